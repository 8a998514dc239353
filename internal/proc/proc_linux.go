// Package proc reads what the kernel tells of processes. All who look for processes, the guest, the supervisor and
// the engines, look through it.
//
// It only reads, and what it returns may be out of date at once: who signals a process makes sure in another way that
// it is still the one that was meant.
package proc

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
)

// Process is one row of /proc.
type Process struct {
	PID, Parent, Group, Session int
	// Name is that of its program, as far as the kernel keeps it, or what it calls itself.
	Name string
	// Started, in ticks since the machine did, tells two users of one PID apart.
	Started uint64
	Stopped bool
	Zombie  bool // nothing of it runs any more
	// Spent is the time that the processors have spent on it, Ended what they spent on children that it has waited for.
	Spent, Ended time.Duration
	// Resident is what it has of the memory, in bytes.
	Resident int64
}

// tick is the unit in which the kernel tells of times, on every architecture.
const tick = 10 * time.Millisecond

// All lists what runs in our PID namespace.
func All() []Process {
	pids := PIDs()
	all := make([]Process, 0, len(pids))
	for _, pid := range pids {
		if p, ok := Read(pid); ok {
			all = append(all, p)
		}
	}
	return all
}

// PIDs lists the process ids of our PID namespace.
func PIDs() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what could be read is what there is
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return slices.Clip(pids)
}

// Read looks at one process, and says whether there is one.
func Read(pid int) (Process, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{}, false
	}
	return Parse(stat)
}

// Parse reads a process's file stat. The fields come after the name, which is in parentheses and may itself hold
// spaces and parentheses.
func Parse(stat []byte) (Process, bool) {
	open, closing := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 1 || closing < open {
		return Process{}, false
	}
	fields := bytes.Fields(stat[closing+1:])
	const state, parent, group, session, user, system, endedUser, endedSystem, threads, started, resident = 0, 1, 2, 3, 11, 12, 13, 14, 17, 19, 21
	if len(fields) <= started {
		return Process{}, false
	}
	number := func(b []byte) int { n, _ := strconv.Atoi(string(b)); return n }
	p := Process{
		PID:     number(bytes.TrimSpace(stat[:open])),
		Parent:  number(fields[parent]),
		Group:   number(fields[group]),
		Session: number(fields[session]),
		Name:    string(stat[open+1 : closing]),
		Stopped: fields[state][0] == 'T',
		// A process whose first thread has ended looks dead, and is not as long as it has another.
		Zombie: (fields[state][0] == 'Z' || fields[state][0] == 'X') && number(fields[threads]) <= 1,

		Spent: time.Duration(number(fields[user])+number(fields[system])) * tick,
		Ended: time.Duration(number(fields[endedUser])+number(fields[endedSystem])) * tick,
	}
	if len(fields) > resident {
		p.Resident = int64(number(fields[resident])) * int64(os.Getpagesize())
	}
	p.Started, _ = strconv.ParseUint(string(fields[started]), 10, 64)
	return p, p.PID > 0
}

// StartTime is when a process started, as files keep it to tell it from another with its PID.
func StartTime(pid int) (string, error) {
	p, ok := Read(pid)
	if !ok {
		return "", fmt.Errorf("cannot read the start time of process %d: %w", pid, os.ErrNotExist)
	}
	return strconv.FormatUint(p.Started, 10), nil
}

// BootID names this run of the machine; a process id and a start time mean nothing in another. It is "" where the
// kernel does not tell.
func BootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(id))
}

// HasEnvironment says whether a process was started with an entry in its environment. One that cannot be read has not.
func HasEnvironment(pid int, entry string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for e := range bytes.SplitSeq(env, []byte{0}) {
		if string(e) == entry {
			return true
		}
	}
	return false
}

// RealUser is who a process belongs to for those who want to signal it.
func RealUser(pid int) (uid int, ok bool) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(status) {
		if rest, is := bytes.CutPrefix(line, []byte("Uid:")); is {
			if fields := bytes.Fields(rest); len(fields) > 0 {
				uid, err = strconv.Atoi(string(fields[0]))
				return uid, err == nil
			}
		}
	}
	return 0, false
}
