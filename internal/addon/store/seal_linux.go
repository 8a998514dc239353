package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// tree closes a tree, going from directory to directory by what is open: a generation has ten thousand files, and every
// one is looked at. The prefix is its path in the generation.
func (s *sealing) tree(root, prefix string) error {
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: root, Err: err}
	}
	return s.directory(fd, prefix)
}

// directory takes a directory over, and closes it when it is through with what is in it: from one that is closed
// nothing can be removed.
func (s *sealing) directory(fd int, prefix string) error {
	dir := os.NewFile(uintptr(fd), prefix)
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return err
	}
	if err := s.ctx.Err(); err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			err = s.below(fd, prefix+e.Name(), e.Name())
		} else {
			err = s.file(fd, prefix+e.Name(), e.Name())
		}
		if err != nil {
			return err
		}
	}
	return os.NewSyscallError("fchmod", unix.Fchmod(fd, uint32(dirMode)))
}

func (s *sealing) below(parent int, name, base string) error {
	fd, err := unix.Openat(parent, base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	if err := s.directory(fd, name+"/"); err != nil || s.dirs[name] {
		return err
	}
	return os.NewSyscallError("rmdir", unix.Unlinkat(parent, base, unix.AT_REMOVEDIR))
}

// file leaves one alone that is as it should be: it may be one of an older generation, too.
func (s *sealing) file(dir int, name, base string) error {
	var info unix.Stat_t
	if err := unix.Fstatat(dir, base, &info, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &os.PathError{Op: "stat", Path: name, Err: err}
	}
	mode, err := s.meet(name, info.Mode&unix.S_IFMT == unix.S_IFREG, info.Size)
	if err != nil || info.Mode&0o7777 == uint32(mode) {
		return err
	}
	return os.NewSyscallError("fchmodat", unix.Fchmodat(dir, base, uint32(mode), 0))
}
