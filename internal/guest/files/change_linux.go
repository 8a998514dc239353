package files

import (
	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rmtree"
	"hermes.example/hermes/internal/rooted"
)

// mkdir makes a directory; with All also those above it, and then it is well if it is there.
func (s *service) mkdir() error {
	mode := s.req.Mode & 0o777
	if mode == 0 {
		mode = 0o755
	}
	if !s.req.All {
		dir, base, err := s.parent(s.path())
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		return unix.Mkdirat(dir, base, mode)
	}
	name, err := rooted.Clean(s.path(), deepest)
	if err != nil {
		return err
	}
	root := s.root
	if s.rule != nil {
		if root, name, err = s.beneath(name); err != nil {
			return err
		}
		defer root.Close()
	}
	root.Make = func(above int, dir string) error {
		_, base := rooted.Split(dir)
		with := uint32(0o755)
		if dir == name {
			with = mode
		}
		if err := unix.Mkdirat(above, base, with); err != unix.EEXIST {
			return err
		}
		return nil // somebody else made it meanwhile, or else it does not open as a directory
	}
	fd, err := root.Parent(name)
	if err != nil {
		return err
	}
	_, err = ordinary(fd)
	return err
}

// remove removes a file, a link or an empty directory; with All also one that is not empty.
func (s *service) remove() error {
	dir, base, err := s.parent(s.path())
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	err = unix.Unlinkat(dir, base, 0)
	switch {
	case err != unix.EISDIR:
		return err
	case s.req.All:
		return rmtree.RemoveAt(dir, base, s.gone)
	}
	return unix.Unlinkat(dir, base, unix.AT_REMOVEDIR)
}

// rename gives a file another name below the same root, in place of what has it.
func (s *service) rename() error {
	from, oldBase, err := s.parent(s.path())
	if err != nil {
		return err
	}
	defer unix.Close(from)
	to, newBase, err := s.parent(string(s.req.To))
	if err != nil {
		return err
	}
	defer unix.Close(to)
	return unix.Renameat(from, oldBase, to, newBase)
}
