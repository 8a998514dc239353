package tree

import (
	"os"

	"golang.org/x/sys/unix"
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
	if p, ok := readProcess(first); ok {
		l.since = p.started
		l.known[first] = p.started
	}
	return l
}

// members lists the living.
func (l lineage) members(all []process) []process {
	byPID := make(map[int]process, len(all))
	for _, p := range all {
		byPID[p.pid] = p
	}
	// Once the first process is reaped its number, and so that of its session, may be somebody else's.
	leader, there := byPID[l.first]
	recycled := there && leader.started != l.since
	self := os.Getpid()
	judged := make(map[int]bool, len(all))
	var belongs func(p process) bool
	belongs = func(p process) bool {
		if verdict, done := judged[p.pid]; done {
			return verdict
		}
		judged[p.pid] = false // ends a circle of parents, as a list that took a while to read may show
		started, seen := l.known[p.pid]
		orphan := p.parent == self || p.parent == 1
		verdict := false
		switch {
		case p.pid == self || p.pid == 1 || p.guest && p.session != l.first:
		case seen && started == p.started:
			verdict = true
		case !recycled && (p.session == l.first || p.group == l.first):
			verdict = true
		case orphan:
			verdict = hasEnvironment(p.pid, l.mark)
		default:
			parent, ok := byPID[p.parent]
			verdict = ok && belongs(parent)
		}
		judged[p.pid] = verdict
		return verdict
	}
	var alive []process
	for _, p := range all {
		if belongs(p) {
			l.known[p.pid] = p.started
			if !p.zombie {
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
				pids = append(pids, m.pid)
			}
			return pids
		}
	}
}
