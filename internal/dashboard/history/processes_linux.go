package history

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/proc"
)

// isGuest says whether a program runs a sandbox, which tells itself what it uses. Its copies are named by their digest.
func isGuest(name string) bool { return strings.HasPrefix(name, "guest-") || name == "hermes-guest" }

// ownName is that of our program which starts guests.
const ownName = "hermes"

// Processes are those that descend from some, with those. Sandboxes are left out, whoever started them. Of children that
// have ended the time is their parent's, but not with our own programs: their children are guests, whose time has been
// told already.
func Processes(roots []int) []Source {
	children, byID := map[int][]int{}, map[int]proc.Process{}
	for _, p := range proc.All() {
		byID[p.PID] = p
		children[p.Parent] = append(children[p.Parent], p.PID)
	}
	booted := bootTime()
	var found []Source
	for next := slices.Clone(roots); len(next) > 0; {
		pid := next[0]
		p, ok := byID[pid]
		delete(byID, pid) // each counts once, whoever it descends from
		next = next[1:]
		if !ok || isGuest(p.Name) {
			continue
		}
		spent := p.Spent
		if p.Name != ownName {
			spent += p.Ended
		}
		found = append(found, Source{Key: fmt.Sprintf("process %d %d", p.PID, p.Started), Began: booted.Add(time.Duration(p.Started) * 10 * time.Millisecond),
			CPU: spent, Memory: p.Resident, Finished: -1})
		next = append(next, children[pid]...)
	}
	return found
}

// bootTime is when the machine started.
func bootTime() time.Time {
	var since unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &since); err != nil {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(since.Nano()))
}
