package tree

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/cgroup"
	"hermes.example/hermes/internal/proc"
)

// NewForest makes a forest, with a cgroup below our own if we may.
func NewForest() *Forest {
	own, err := cgroup.Own()
	if err != nil {
		return &Forest{}
	}
	// Not named by our number: in another PID namespace it is another's.
	base := filepath.Join(own, "hermes-services-"+rand.Text())
	if err := os.Mkdir(base, 0o755); err != nil {
		return &Forest{}
	}
	if _, err := os.Stat(filepath.Join(base, "cgroup.kill")); err != nil {
		os.Remove(base) // before Linux 5.14 it would tell us the members, but not end them
		return &Forest{}
	}
	return &Forest{base: base}
}

// Close removes the forest's own cgroup.
func (f *Forest) Close() {
	if f.base != "" {
		os.Remove(f.base)
	}
}

// group is a cgroup of one tree.
type group struct {
	base   string
	dir    *os.File
	census *census
}

// newGroup makes one. Without it the members are found in /proc: that is no error.
func newGroup(base, name string, c *census) *group {
	path := filepath.Join(base, name)
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		os.Remove(path)
		return nil
	}
	return &group{base, dir, c}
}

func (g *group) fd() int { return int(g.dir.Fd()) }

// end lets the kernel kill the members, those too that are born meanwhile.
func (g *group) end() []int {
	for p := newPace(); g.populated(); {
		if g.release(); !g.populated() {
			break
		}
		_ = os.WriteFile(filepath.Join(g.dir.Name(), "cgroup.kill"), []byte("1"), 0) // seen to below
		// It passes over processes whose first thread has ended.
		for _, pid := range g.members() {
			_ = Signal(pid, unix.SIGKILL)
		}
		if !p.wait() {
			return g.members()
		}
	}
	return nil
}

// release moves sandboxes out of the cgroup, each from its guest down, until a look finds none. Where it may not, they
// end with the service.
func (g *group) release() {
	for moved := true; moved; {
		moved = false
		members := g.members()
		for _, p := range sandboxed(g.census.take()) {
			if slices.Contains(members, p.PID) && os.WriteFile(filepath.Join(g.base, "cgroup.procs"), []byte(strconv.Itoa(p.PID)), 0) == nil {
				moved = true
			}
		}
	}
}

// sandboxed are the guests among some processes, and all below them.
func sandboxed(all []proc.Process) []proc.Process {
	inside := make(map[int]bool)
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if !inside[p.PID] && (isGuest(p) || inside[p.Parent]) {
				inside[p.PID], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(p proc.Process) bool { return !inside[p.PID] })
}

// populated asks the kernel whether anything lives there. A list of members does not tell: who forks and ends all
// the time is gone from it before it is read.
func (g *group) populated() bool {
	events, err := os.ReadFile(filepath.Join(g.dir.Name(), "cgroup.events"))
	return err == nil && strings.Contains(string(events), "populated 1")
}

// members are those that this process can name: 0 stands for one outside its pid namespace.
func (g *group) members() []int {
	list, _ := os.ReadFile(filepath.Join(g.dir.Name(), "cgroup.procs"))
	var pids []int
	for _, word := range strings.Fields(string(list)) {
		if pid, err := strconv.Atoi(word); err == nil && pid > 0 && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// close removes the cgroup, also what a service has made in it. One that is still in use stays.
func (g *group) close() {
	path := g.dir.Name()
	g.dir.Close()
	removeGroups(path)
}

func removeGroups(path string) {
	if os.Remove(path) == nil {
		return
	}
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		if e.IsDir() {
			removeGroups(filepath.Join(path, e.Name()))
		}
	}
	os.Remove(path)
}
