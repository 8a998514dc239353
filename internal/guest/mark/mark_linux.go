// Package mark reads what tells the commands of sandboxes from everybody else, and
// from each other: two hard resource limits that do nothing to them.
//
// One is the number of file locks, which the kernel has not looked at since 2.4, the
// other the time of real-time processes, of which there are none in a sandbox. Both
// are inherited by whatever a process forks or executes, whatever parent, session,
// user or environment it takes, and nobody in a sandbox may raise either.
//
// The guest gives marks and finds processes by them; the guest and the local engine
// judge by them who is at the other end of a socket. The package changes nothing.
package mark

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// The resources that hold a mark.
const (
	Up   = unix.RLIMIT_LOCKS
	Down = unix.RLIMIT_RTTIME
)

// Mark is what was found on a process.
type Mark struct{ Up, Down uint64 }

// Rank orders processes by who can have started whom: all commands of a guest have
// one rank, which is below the guest's own. Numbers of commands take the low bits.
func (k Mark) Rank() uint64 { return k.Up >> 32 }

// Of reads a process's mark; false means that the process is gone.
func Of(pid int) (Mark, bool) {
	var up, down unix.Rlimit
	err := unix.Prlimit(pid, Up, nil, &up)
	if err == nil {
		err = unix.Prlimit(pid, Down, nil, &down)
	}
	switch err {
	case nil:
		return Mark{up.Max, down.Max}, true
	case unix.ESRCH:
		return Mark{}, false
	}
	// A process of another user: what may be read of it is more work.
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return Mark{}, false
	}
	return parse(text)
}

// parse reads the table that the kernel makes of a process's limits.
func parse(text []byte) (k Mark, ok bool) {
	found := 0
	for line := range bytes.Lines(text) {
		for name, into := range map[string]*uint64{"Max file locks": &k.Up, "Max realtime timeout": &k.Down} {
			rest, is := bytes.CutPrefix(line, []byte(name))
			if !is {
				continue
			}
			fields := bytes.Fields(rest) // soft, hard, unit
			if len(fields) < 2 {
				return Mark{}, false
			}
			if string(fields[1]) == "unlimited" {
				*into = unix.RLIM_INFINITY
			} else if n, err := strconv.ParseUint(string(fields[1]), 10, 64); err == nil {
				*into = n
			} else {
				return Mark{}, false
			}
			found++
		}
	}
	return k, found == 2
}
