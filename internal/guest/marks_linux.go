package guest

import (
	"sync"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/mark"
	"hermes.example/hermes/internal/guest/spawn"
)

// marks tell which command a process belongs to where commands have no cgroups.
//
// A command's number is written into two hard resource limits; see package mark.
// One counts up, the other down, and nobody here may raise either. So a process can
// spoil its mark, but never take another command's: for that one of the two would
// have to grow.
type marks struct {
	middle uint64 // the mark of command n is middle+n and middle-n
	// stillness is held by whoever holds all processes still: another would take
	// them for stopped by themselves, and leave them so.
	stillness sync.Mutex
}

// newMarks returns nil where our own limits leave no room for marks.
func newMarks() *marks {
	var up, down unix.Rlimit
	if unix.Getrlimit(mark.Up, &up) != nil || unix.Getrlimit(mark.Down, &down) != nil {
		return nil
	}
	return marksBelow(min(up.Max, down.Max))
}

// marksBelow leaves the numbers of commands the low half of a word, so that all
// commands have one rank.
func marksBelow(limit uint64) *marks {
	const numbers, most = 1 << 32, 1 << 61
	middle := min(limit, most) / 2 / numbers * numbers
	if middle == 0 {
		return nil
	}
	return &marks{middle: middle}
}

// limits are what gives a process the mark of command n.
func (m *marks) limits(n uint64) []spawn.Rlimit {
	return []spawn.Rlimit{
		{Resource: mark.Up, Value: unix.Rlimit{Cur: m.middle + n, Max: m.middle + n}},
		{Resource: mark.Down, Value: unix.Rlimit{Cur: m.middle - n, Max: m.middle - n}},
	}
}

// is says whether a process with this mark is of command n.
func (m *marks) is(k mark.Mark, n uint64) bool { return k.Up == m.middle+n && k.Down == m.middle-n }

// whole says whether it is the mark of any command, or none at all.
func (m *marks) whole(k mark.Mark) bool {
	return k.Up > m.middle && k.Up-m.middle == m.middle-k.Down || k.Up > 2*m.middle && k.Down > 2*m.middle
}

// maybe says whether a spoilt mark can have been that of command n.
func (m *marks) maybe(k mark.Mark, n uint64) bool { return k.Up <= m.middle+n && k.Down <= m.middle-n }
