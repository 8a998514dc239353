package guest

import (
	"bytes"
	"os"
	"slices"
	"strconv"
)

// process is one row of /proc.
type process struct {
	pid, parent, group, session int
	// started tells two users of one pid apart.
	started uint64
	stopped bool
	zombie  bool
}

// processes lists what runs in the guest's pid namespace.
func processes() []process {
	names := processNames()
	all := make([]process, 0, len(names))
	for _, name := range names {
		if p, ok := readProcess(name); ok {
			all = append(all, p)
		}
	}
	return all
}

// processNames lists the process ids in /proc.
func processNames() []string {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	return slices.DeleteFunc(names, func(name string) bool { return name[0] < '0' || name[0] > '9' })
}

func readProcess(pid string) (process, bool) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return process{}, false
	}
	return parseStat(stat)
}

// parseStat reads the fields after the command name, which is in parentheses
// and may itself hold spaces and parentheses.
func parseStat(stat []byte) (process, bool) {
	open, closing := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 1 || closing < open {
		return process{}, false
	}
	fields := bytes.Fields(stat[closing+1:])
	const state, parent, group, session, threads, started = 0, 1, 2, 3, 17, 19
	if len(fields) <= started {
		return process{}, false
	}
	number := func(b []byte) int { n, _ := strconv.Atoi(string(b)); return n }
	p := process{
		pid:     number(bytes.TrimSpace(stat[:open])),
		parent:  number(fields[parent]),
		group:   number(fields[group]),
		session: number(fields[session]),
		stopped: fields[state][0] == 'T',
		// A process whose first thread has ended looks dead, and is not as long
		// as it has another.
		zombie: (fields[state][0] == 'Z' || fields[state][0] == 'X') && number(fields[threads]) <= 1,
	}
	p.started, _ = strconv.ParseUint(string(fields[started]), 10, 64)
	return p, p.pid > 0
}

// hasEnvironment says whether a process was started with entry in its
// environment. One that cannot be read has not.
func hasEnvironment(pid int, entry string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for _, e := range bytes.Split(env, []byte{0}) {
		if string(e) == entry {
			return true
		}
	}
	return false
}
