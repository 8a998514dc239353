// Package tree ends a service with all that it started, however that tried to get away.
//
// The supervisor uses it, once a process of a service. Where it may make a cgroup the kernel knows the members;
// otherwise they are found in /proc, by descent, session, process group and a mark in their environment. It must
// never signal a process of which that is not known.
//
// A sandbox that a service made is not part of it: it is to be found again by whoever comes next, and has a lease of
// its own.
package tree

import (
	"crypto/rand"
	"sync/atomic"
	"time"
)

// Variable is the mark in the environment of all processes of a tree that keep theirs.
const Variable = "HERMES_SERVICE_ID"

// killBound is how long killing may take before the rest is reported.
const killBound = 5 * time.Second

// Forest makes trees. Its life: NewForest, any number of Plant, Close when all trees are.
type Forest struct {
	base   string // a cgroup for ours; empty where there can be none
	census census
	cut    atomic.Bool // cgroups do not work after all
}

// Cgroups says whether trees have cgroups.
func (f *Forest) Cgroups() bool { return f.base != "" && !f.cut.Load() }

// Tree is one process of a service and all that come of it. Its life: Plant, Start once, End, Close.
type Tree struct {
	forest *Forest
	mark   string // NAME=value
	group  *group // nil: the members are found in /proc
	known  lineage
}

// Plant prepares a tree, before its first process is started.
func (f *Forest) Plant() *Tree {
	t := &Tree{forest: f, mark: Variable + "=" + rand.Text()}
	if f.Cgroups() {
		t.group = newGroup(f.base, t.mark[len(Variable)+1:], &f.census)
	}
	return t
}

// Mark belongs into the environment of the first process.
func (t *Tree) Mark() string { return t.mark }

// Cgroup is the cgroup that the first process is to be born in, or -1.
func (t *Tree) Cgroup() int {
	if t.group == nil {
		return -1
	}
	return t.group.fd()
}

// WithoutCgroup is for a kernel that refuses to bear a process in a cgroup. No later tree tries it either.
func (t *Tree) WithoutCgroup() {
	t.forest.cut.Store(true)
	t.Close()
	t.group = nil
}

// Rooted tells which process was started.
func (t *Tree) Rooted(pid int) { t.known = newLineage(pid, t.mark) }

// End kills all that lives of the tree, and returns what does not die. The first process may have been reaped.
func (t *Tree) End() []int {
	if t.group != nil {
		return t.group.end()
	}
	return t.known.end(&t.forest.census)
}

// Close lets go of what the tree holds.
func (t *Tree) Close() {
	if t.group != nil {
		t.group.close()
	}
}

// pace is a pause that doubles, until its end.
type pace struct {
	pause time.Duration
	end   time.Time
}

func newPace() *pace { return &pace{200 * time.Microsecond, time.Now().Add(killBound)} }

// wait waits a little for what the kernel does not announce, and says whether there is time left.
func (p *pace) wait() bool {
	time.Sleep(p.pause)
	p.pause = min(p.pause*2, 20*time.Millisecond)
	return time.Now().Before(p.end)
}
