package guest

import (
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// cgroups hands out a cgroup for every command, below one that the engine made.
//
// Making and removing one takes longer than all else that we do for a small
// command, so one that is empty again is kept for the next: nothing can enter it
// but what we start in it.
type cgroups struct {
	parent *os.File

	mu       sync.Mutex
	made     uint64
	spare    *cgroupTree
	occupied []*cgroupTree // by background processes of commands that ended
}

// take returns an empty cgroup.
func (g *cgroups) take() (*cgroupTree, error) {
	g.mu.Lock()
	if t := g.spare; t != nil {
		g.spare = nil
		g.mu.Unlock()
		return t, nil
	}
	g.made++
	number := g.made
	g.mu.Unlock()
	return g.make("c" + strconv.FormatUint(number, 10)) // many may at once
}

func (g *cgroups) make(name string) (*cgroupTree, error) {
	parent := int(g.parent.Fd())
	if err := unix.Mkdirat(parent, name, 0o755); err != nil {
		return nil, os.NewSyscallError("mkdir cgroup", err)
	}
	fd, err := unix.Openat(parent, name, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		unix.Unlinkat(parent, name, unix.AT_REMOVEDIR)
		return nil, os.NewSyscallError("open cgroup", err)
	}
	return &cgroupTree{owner: g, name: name, dir: os.NewFile(uintptr(fd), name)}, nil
}

// giveBack takes the cgroup of a command that has ended, and looks whether those
// that were occupied have been left meanwhile.
func (g *cgroups) giveBack(t *cgroupTree) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.occupied = append(g.occupied, t)
	rest := g.occupied[:0]
	for _, t := range g.occupied {
		switch {
		case t.populated():
			rest = append(rest, t)
		case g.spare == nil && !t.killed.Load():
			g.spare = t
		default:
			t.dir.Close()
			unix.Unlinkat(int(g.parent.Fd()), t.name, unix.AT_REMOVEDIR)
		}
	}
	clear(g.occupied[len(rest):])
	g.occupied = rest
}
