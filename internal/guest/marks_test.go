//go:build linux

package guest

import (
	"testing"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/mark"
)

// All commands of a guest have one rank below the guest's, and so have the guests that
// commands start and the commands of those, whatever command started them.
func TestEveryGuestIsAboveItsCommands(t *testing.T) {
	type depth struct{ guest, first, last mark.Mark }
	below := func(limit mark.Mark) depth {
		m := marksBelow(min(limit.Up, limit.Down))
		if m == nil {
			t.Fatalf("there are no marks below %d", limit)
		}
		of := func(n uint64) mark.Mark {
			l := m.limits(n)
			return mark.Mark{Up: l[0].Value.Max, Down: l[1].Value.Max}
		}
		return depth{limit, of(1), of(1<<32 - 1)}
	}
	at := below(mark.Mark{Up: unix.RLIM_INFINITY, Down: unix.RLIM_INFINITY})
	for n := range 16 {
		if at.first.Rank() != at.last.Rank() || at.first.Rank() >= at.guest.Rank() {
			t.Fatalf("at depth %d the guest has rank %d, its commands %d to %d", n, at.guest.Rank(), at.first.Rank(), at.last.Rank())
		}
		if a, b := below(at.first), below(at.last); a.first.Rank() != b.first.Rank() {
			t.Fatalf("at depth %d commands that different commands started have ranks %d and %d", n+1, a.first.Rank(), b.first.Rank())
		}
		at = below(at.last)
	}
	if marksBelow(1<<32) != nil {
		t.Error("there are marks where there is no room for them")
	}
}
