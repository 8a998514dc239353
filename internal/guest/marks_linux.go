package guest

import (
	"bytes"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/spawn"
)

// marks tell which command a process belongs to where commands have no cgroups.
//
// A command's number is written into two hard resource limits which do nothing to
// the processes of a sandbox: the number of file locks, which the kernel has not
// looked at since 2.4, and the time of real-time processes, of which there are none
// here. One counts up, the other down. Both are inherited by whatever a process
// forks or executes, whatever parent, session, user or environment it takes, and
// nobody here may raise either. So a process can spoil its mark, but never take
// another command's: for that one of the two would have to grow.
type marks struct {
	middle uint64 // the mark of command n is middle+n and middle-n
	// stillness is held by whoever holds all processes still: another would take
	// them for stopped by themselves, and leave them so.
	stillness sync.Mutex
}

const (
	markUp   = unix.RLIMIT_LOCKS
	markDown = unix.RLIMIT_RTTIME
)

// newMarks returns nil where our own limits leave no room for marks.
func newMarks() *marks {
	var up, down unix.Rlimit
	if unix.Getrlimit(markUp, &up) != nil || unix.Getrlimit(markDown, &down) != nil {
		return nil
	}
	const least, most = 1 << 32, 1 << 61
	top := min(up.Max, down.Max, most)
	if top < least {
		return nil
	}
	return &marks{middle: top / 2}
}

// limits are what gives a process the mark of command n.
func (m *marks) limits(n uint64) []spawn.Rlimit {
	return []spawn.Rlimit{
		{Resource: markUp, Value: unix.Rlimit{Cur: m.middle + n, Max: m.middle + n}},
		{Resource: markDown, Value: unix.Rlimit{Cur: m.middle - n, Max: m.middle - n}},
	}
}

// mark is what was found on a process.
type mark struct{ up, down uint64 }

// is says whether a process with this mark is of command n.
func (m *marks) is(k mark, n uint64) bool { return k.up == m.middle+n && k.down == m.middle-n }

// whole says whether it is the mark of any command, or none at all.
func (m *marks) whole(k mark) bool {
	return k.up > m.middle && k.up-m.middle == m.middle-k.down || k.up > 2*m.middle && k.down > 2*m.middle
}

// maybe says whether a spoilt mark can have been that of command n.
func (m *marks) maybe(k mark, n uint64) bool { return k.up <= m.middle+n && k.down <= m.middle-n }

// markOf reads a process's mark; false means that the process is gone.
func markOf(pid int) (mark, bool) {
	var up, down unix.Rlimit
	err := unix.Prlimit(pid, markUp, nil, &up)
	if err == nil {
		err = unix.Prlimit(pid, markDown, nil, &down)
	}
	switch err {
	case nil:
		return mark{up.Max, down.Max}, true
	case unix.ESRCH:
		return mark{}, false
	}
	// A process of another user: what may be read of it is more work.
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return mark{}, false
	}
	return parseLimits(text)
}

// parseLimits reads the table that the kernel makes of a process's limits.
func parseLimits(text []byte) (k mark, ok bool) {
	found := 0
	for line := range bytes.Lines(text) {
		for name, into := range map[string]*uint64{"Max file locks": &k.up, "Max realtime timeout": &k.down} {
			rest, is := bytes.CutPrefix(line, []byte(name))
			if !is {
				continue
			}
			fields := bytes.Fields(rest) // soft, hard, unit
			if len(fields) < 2 {
				return mark{}, false
			}
			if string(fields[1]) == "unlimited" {
				*into = unix.RLIM_INFINITY
			} else if n, err := strconv.ParseUint(string(fields[1]), 10, 64); err == nil {
				*into = n
			} else {
				return mark{}, false
			}
			found++
		}
	}
	return k, found == 2
}
