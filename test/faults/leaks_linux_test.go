package faults

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// traces is what a sandbox leaves when something forgets to clear it away.
type traces struct {
	guests, mounts, cgroups, run, files []string
	descriptors                         int
}

func (a *arena) traces() traces {
	tr := traces{mounts: a.mounts(), cgroups: a.cgroups()}
	for _, pid := range a.guests() {
		tr.guests = append(tr.guests, strconv.Itoa(pid))
	}
	for _, name := range names(filepath.Join(a.run, "hermes")) {
		if !strings.HasPrefix(name, "guest-") { // the program is kept for the next one
			tr.run = append(tr.run, name)
		}
	}
	tr.files = names(filepath.Join(a.home, "sandboxes", "native"))
	tr.descriptors = len(names("/proc/self/fd"))
	return tr
}

// checkLeaks compares with the state before, once what is dying had its time.
func (a *arena) checkLeaks() {
	a.Helper()
	var left []string
	eventually(func() bool {
		now := a.traces()
		left = nil
		for what, pair := range map[string][2][]string{
			"processes": {a.before.guests, now.guests}, "mounts": {a.before.mounts, now.mounts}, "cgroups": {a.before.cgroups, now.cgroups},
			"in the run directory": {a.before.run, now.run}, "directories": {a.before.files, now.files},
		} {
			for _, entry := range pair[1] {
				if !slices.Contains(pair[0], entry) {
					left = append(left, what+": "+entry)
				}
			}
		}
		if now.descriptors > a.before.descriptors {
			left = append(left, fmt.Sprintf("descriptors: %d more: %v", now.descriptors-a.before.descriptors, descriptors()))
		}
		return len(left) == 0
	})
	if len(left) > 0 {
		slices.Sort(left)
		a.Errorf("left behind:\n  %s", strings.Join(left, "\n  "))
	}
}

func names(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return found
}

func descriptors() []string {
	var found []string
	for _, fd := range names("/proc/self/fd") {
		target, _ := os.Readlink("/proc/self/fd/" + fd)
		found = append(found, fd+"→"+target)
	}
	return found
}

// guests returns the living guests of the arena. Root knows them by the program's
// place; others cannot see that, and take all of their own user's.
func (a *arena) guests() []int { return guestsBelow(a.run) }

func guestsBelow(run string) []int {
	var found []int
	for _, name := range names("/proc") {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		cmdline, _ := os.ReadFile("/proc/" + name + "/cmdline")
		if string(bytes.Trim(cmdline, "\x00")) != "hermes-guest" {
			continue
		}
		if os.Getuid() != 0 {
			if ownerOf(pid) == os.Getuid() {
				found = append(found, pid)
			}
		} else if exe, _ := os.Readlink("/proc/" + name + "/exe"); strings.HasPrefix(exe, run+"/") {
			found = append(found, pid)
		}
	}
	return found
}

// mounts returns what is mounted of the arena's directories where we are.
func (a *arena) mounts() []string {
	info, _ := os.ReadFile("/proc/self/mountinfo")
	var found []string
	for line := range strings.Lines(string(info)) {
		if strings.Contains(line, filepath.Dir(a.run)) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// cgroups returns the groups of the arena's identities, wherever they are mounted.
func (a *arena) cgroups() []string {
	info, _ := os.ReadFile("/proc/self/mountinfo")
	var found []string
	for line := range strings.Lines(string(info)) {
		fields := strings.Fields(line)
		if !strings.Contains(line, " - cgroup") || len(fields) < 5 {
			continue
		}
		for _, id := range a.known {
			for _, pattern := range []string{"hermes", "*/hermes", "*/*/hermes"} {
				matches, _ := filepath.Glob(filepath.Join(fields[4], pattern, id.Key()))
				found = append(found, matches...)
			}
		}
	}
	return found
}

func ownerOf(pid int) int {
	status, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Uid:" {
			uid, _ := strconv.Atoi(f[1])
			return uid
		}
	}
	return -1
}

// processesOf lists a user's processes after those that are ending had their time.
func processesOf(uid int) []string {
	var found []string
	eventually(func() bool {
		found = nil
		for _, name := range names("/proc") {
			if pid, err := strconv.Atoi(name); err == nil && ownerOf(pid) == uid {
				comm, _ := os.ReadFile("/proc/" + name + "/comm")
				found = append(found, name+" "+strings.TrimSpace(string(comm)))
			}
		}
		return len(found) == 0
	})
	return found
}

// named returns the processes of a name that are alive. One whose first thread has
// ended is alive as long as it has another.
func named(comm string) []int {
	var found []int
	for _, name := range names("/proc") {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if stat, err := os.ReadFile("/proc/" + name + "/stat"); err == nil && alive(stat, comm) {
			found = append(found, pid)
		}
	}
	return found
}

func alive(stat []byte, comm string) bool {
	open, closing := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || closing < open || string(stat[open+1:closing]) != comm {
		return false
	}
	fields := bytes.Fields(stat[closing+1:])
	const state, threads = 0, 17
	if len(fields) <= threads {
		return false
	}
	return string(fields[state]) != "Z" && string(fields[state]) != "X" || string(fields[threads]) > "1"
}

func signal(pid int, s syscall.Signal) error { return syscall.Kill(pid, s) }
