package tree

import (
	"os"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/proc"
)

// lineage finds the processes of a tree in /proc. A process belongs to it whose parent does; that is in the session
// or process group of the first process; or that lost its parent, so that it is now ours or PID 1's child, and has
// the mark in its environment. Who was once seen to belong to it goes on to. The guest of a sandbox that the service
// made belongs to nobody, and so do the processes below it.
type lineage struct {
	first int
	mark  string
	since uint64         // when the first process was started
	known map[int]uint64 // pid → when it was started, which tells two users of one pid apart
}

func newLineage(first int, mark string) lineage {
	l := lineage{first: first, mark: mark, known: make(map[int]uint64)}
	if p, ok := proc.Read(first); ok {
		l.since = p.Started
		l.known[first] = p.Started
	}
	return l
}

// members lists the living.
func (l lineage) members(all []proc.Process) []proc.Process {
	byPID := make(map[int]proc.Process, len(all))
	for _, p := range all {
		byPID[p.PID] = p
	}
	// Once the first process is reaped its number, and so that of its session, may be somebody else's.
	leader, there := byPID[l.first]
	recycled := there && leader.Started != l.since
	self := os.Getpid()
	judged := make(map[int]bool, len(all))
	var belongs func(p proc.Process) bool
	belongs = func(p proc.Process) bool {
		if verdict, done := judged[p.PID]; done {
			return verdict
		}
		judged[p.PID] = false // ends a circle of parents, as a list that took a while to read may show
		started, seen := l.known[p.PID]
		orphan := p.Parent == self || p.Parent == 1
		verdict := false
		switch {
		case p.PID == self || p.PID == 1 || isGuest(p) && p.Session != l.first:
		case seen && started == p.Started:
			verdict = true
		case !recycled && (p.Session == l.first || p.Group == l.first):
			verdict = true
		case orphan:
			verdict = proc.HasEnvironment(p.PID, l.mark)
		default:
			parent, ok := byPID[p.Parent]
			verdict = ok && belongs(parent)
		}
		judged[p.PID] = verdict
		return verdict
	}
	var alive []proc.Process
	for _, p := range all {
		if belongs(p) {
			l.known[p.PID] = p.Started
			if !p.Zombie {
				alive = append(alive, p)
			}
		}
	}
	return alive
}

// end stops what it finds before it kills, so that fewer and fewer are left to fork, until a look finds nobody.
func (l lineage) end(c *census) []int {
	for p := newPace(); ; {
		found := l.members(c.take())
		if len(found) == 0 {
			return nil
		}
		for _, m := range found {
			signal(m, unix.SIGSTOP)
		}
		found = l.members(c.take())
		for _, m := range found {
			signal(m, unix.SIGKILL)
		}
		if !p.wait() {
			var pids []int
			for _, m := range l.members(c.take()) {
				pids = append(pids, m.PID)
			}
			return pids
		}
	}
}
