package files

import (
	"fmt"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
	"hermes.example/hermes/internal/wire"
)

const (
	// batch is how many entries travel together.
	batch = 512
	// defaultEntries and deepest bound a listing that names no bound itself.
	defaultEntries = 100_000
	deepest        = 255
)

// stat tells of one file.
func (s *service) stat() error {
	flags := unix.O_NOFOLLOW
	if s.req.Follow {
		flags = 0
	}
	fd, st, err := s.look(s.path(), flags)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	entry, err := describe(fd, &st, nil)
	if err != nil {
		return err
	}
	return s.w.WriteMessage(wire.TypeFileEntries, []wire.FileEntry{entry})
}

func describe(fd int, st *unix.Stat_t, name []byte) (wire.FileEntry, error) {
	e := wire.FileEntry{Name: name, Mode: st.Mode, Size: st.Size, Time: st.Mtim.Nano(), UID: st.Uid, GID: st.Gid}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return e, nil
	}
	buf := make([]byte, rooted.LongestName+1)
	n, err := unix.Readlinkat(fd, "", buf)
	e.Link = buf[:max(n, 0)]
	return e, err
}

// list tells of the entries of a directory, and of those below it as deep as asked.
func (s *service) list() error {
	fd, _, err := s.look(s.path(), unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	l := lister{w: s.w, left: s.req.Entries, depth: min(s.req.Depth, deepest)}
	if l.left <= 0 {
		l.left = defaultEntries
	}
	l.limit = l.left
	if err := l.dir(fd, "", 0); err != nil {
		return err
	}
	if err := l.flush(); err != nil {
		return err
	}
	return s.w.WriteMessage(wire.TypeFileEnd, wire.FileResult{Entries: l.limit - l.left})
}

type lister struct {
	w           *wire.Writer
	left, limit int
	depth       int
	devices     rooted.Devices
	ready       []wire.FileEntry
}

func (l *lister) dir(fd int, prefix string, level int) error {
	return rooted.Each(fd, prefix, func(fd int, name string, st *unix.Stat_t) error { return l.entry(fd, name, st, level) })
}

func (l *lister) entry(fd int, name string, st *unix.Stat_t, level int) error {
	e, err := describe(fd, st, []byte(name))
	if err != nil {
		return fmt.Errorf("%.200q: %w", name, err)
	}
	if l.left == 0 {
		return &tooLarge{fmt.Sprintf("%d entries", l.limit)}
	}
	l.left--
	if l.ready = append(l.ready, e); len(l.ready) == batch {
		if err := l.flush(); err != nil {
			return err
		}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || level == l.depth {
		return nil
	}
	if kernels, err := l.devices.Kernels(fd, st); err != nil || kernels {
		return err
	}
	return l.dir(fd, name+"/", level+1)
}

func (l *lister) flush() error {
	if len(l.ready) == 0 {
		return nil
	}
	err := l.w.WriteMessage(wire.TypeFileEntries, l.ready)
	l.ready = l.ready[:0]
	return err
}
