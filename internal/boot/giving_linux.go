package boot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
)

// giving changes owners, and only where they are wrong: each file is looked at and changed by one descriptor, so
// that nothing can be put in its place in between.
type giving struct {
	uid, gid int
	changed  atomic.Int64

	mu    sync.Mutex
	left  int
	first error
}

// Why a file is left to whom it belongs.
var (
	errDevice = errors.New("it is a device")
	// A second name may be outside of the volume: whoever made the one in it would be given the other, too.
	errNames = errors.New("it has several names")
	errDeep  = errors.New("it lies too deep")
)

func (g *giving) wrong(st *unix.Stat_t) bool { return int(st.Uid) != g.uid || int(st.Gid) != g.gid }

// give gives what is open.
func (g *giving) give(fd int, st *unix.Stat_t, name string) {
	if !g.wrong(st) {
		return
	}
	kind := st.Mode & unix.S_IFMT
	switch {
	case kind == unix.S_IFCHR || kind == unix.S_IFBLK:
		g.leave(name, errDevice)
	case kind != unix.S_IFDIR && st.Nlink > 1:
		g.leave(name, errNames)
	default:
		if err := unix.Fchownat(fd, "", g.uid, g.gid, unix.AT_EMPTY_PATH); err != nil {
			g.leave(name, err)
			return
		}
		g.changed.Add(1)
	}
}

func (g *giving) leave(name string, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left++; g.first == nil {
		g.first = fmt.Errorf("%.200q: %w", name, why)
	}
}

// deepest bounds how many descriptors a walk holds.
const deepest = 200

// place is a directory that is walked.
type place struct {
	root  *rooted.Root
	name  string
	depth int
}

// walk looks at all files below a directory with several workers. A directory is handed to a worker who has nothing
// to do, or else walked by who found it, so that only as many are open as workers are deep.
type walk struct {
	*giving
	ctx     context.Context
	jobs    chan *place
	pending sync.WaitGroup
}

func (w *walk) all(top *place, workers int) {
	var ended sync.WaitGroup
	for range workers - 1 {
		ended.Go(func() {
			for p := range w.jobs {
				w.visit(p)
			}
		})
	}
	w.enter(top)
	w.pending.Wait()
	close(w.jobs)
	ended.Wait()
}

func (w *walk) enter(p *place) {
	w.pending.Add(1)
	select {
	case w.jobs <- p:
	default:
		w.visit(p)
	}
}

func (w *walk) visit(p *place) {
	defer w.pending.Done()
	defer p.root.Close()
	buf := make([]byte, 16<<10)
	var names []string
	for w.ctx.Err() == nil {
		n, err := unix.ReadDirent(p.root.FD(), buf)
		if err != nil {
			w.leave(p.name, err)
		}
		if n <= 0 {
			return
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names[:0])
		for _, name := range names {
			w.entry(p, name)
		}
	}
}

// entry looks at one file of a directory. What was removed meanwhile needs nothing, and what is mounted there has
// owners of its own.
func (w *walk) entry(p *place, name string) {
	var st unix.Stat_t
	if unix.Fstatat(p.root.FD(), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return
	}
	if w.wrong(&st) {
		if fd, err := p.root.Open(name, unix.O_PATH|unix.O_NOFOLLOW); err == nil {
			if unix.Fstat(fd, &st) == nil {
				w.give(fd, &st, p.name+"/"+name)
			}
			unix.Close(fd)
		}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return
	}
	if p.depth == deepest {
		w.leave(p.name+"/"+name, errDeep)
		return
	}
	fd, err := p.root.OpenDir(name, unix.O_NOFOLLOW)
	switch err {
	case nil:
		w.enter(&place{rooted.New(fd, rooted.NoLinks|rooted.OneFileSystem), p.name + "/" + name, p.depth + 1})
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV:
	default:
		w.leave(p.name+"/"+name, err)
	}
}
