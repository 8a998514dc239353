package files

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
	"hermes.example/hermes/internal/wire"
)

// ruled carries out what a rule can be judged for. Everything else would have to judge each file of a tree.
func (s *service) ruled(op wire.FileOp) error {
	switch op {
	case wire.FileRead, wire.FileStat, wire.FileList, wire.FileMkdir, wire.FileRemove:
	case wire.FileCheck:
		return s.done(s.check())
	case wire.FileWrite:
		if s.req.Append {
			return &refusal{"nothing is appended under a rule"}
		}
	default:
		return &refusal{fmt.Sprintf("this guest cannot %q under a rule", op)}
	}
	if op == wire.FileRemove && s.req.All {
		return &refusal{"no directory is removed with what is in it under a rule"}
	}
	return s.do(op)
}

// check finds where a file would be written, or the directory in which its own would be made.
func (s *service) check() error {
	dir, base, err := s.target()
	if err == nil {
		defer unix.Close(dir)
		_, err = s.modeFor(dir, base)
		return err
	}
	name, cleanErr := rooted.Clean(s.path(), deepest)
	if !absent(err) || cleanErr != nil {
		return errors.Join(err, cleanErr)
	}
	root, _, err := s.beneath(name)
	if err == nil {
		root.Close()
	}
	return err
}

// target is the directory and the name of what is written. Under a rule a link is written through, as by a command:
// who replaces the link itself leaves the file as it was that everybody else reads.
func (s *service) target() (dir int, base string, err error) {
	if s.rule == nil {
		return s.parent(s.path())
	}
	link, st, err := s.look(s.path(), unix.O_NOFOLLOW)
	if err == unix.ENOENT {
		return s.parent(s.path())
	}
	if err != nil {
		return -1, "", err
	}
	unix.Close(link)
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return s.parent(s.path())
	}
	file, _, err := s.look(s.path(), 0)
	if err == unix.ENOENT {
		return -1, "", &refusal{"it is a link to what does not exist; write to the path that it leads to"}
	}
	if err != nil {
		return -1, "", err
	}
	defer unix.Close(file)
	real, err := os.Readlink(rooted.PathOf(file))
	if err != nil {
		return -1, "", err
	}
	return s.parent(real)
}

// beneath finds the directory that exists on the way to a clean name, and what is left of the name. From there on
// no link is followed.
func (s *service) beneath(name string) (*rooted.Root, string, error) {
	for end := len(name); ; {
		fd, _, err := s.look(name[:end], unix.O_DIRECTORY)
		switch {
		case err == nil:
			dir, err := s.rule.reopen(fd)
			unix.Close(fd)
			if err != nil {
				return nil, "", err
			}
			rest, _ := below(name, name[:end])
			if end == 0 {
				rest = name
			}
			return rooted.New(dir, rooted.NoLinks), rest, nil
		case !absent(err) || end == 0:
			return nil, "", err
		}
		above, _ := rooted.Split(name[:end])
		end = len(above)
	}
}
