//go:build linux

package unpack

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
)

// openRoot opens the directory that is unpacked into, and closes it to others.
func openRoot(dir string) (*rooted.Root, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	// A directory above may hand its group down, and new files would not be ours.
	if err := errors.Join(unix.Fchown(fd, -1, unix.Getegid()), unix.Fchmod(fd, 0o700)); err != nil {
		unix.Close(fd)
		return nil, &os.PathError{Op: "prepare", Path: dir, Err: err}
	}
	return rooted.New(fd, rooted.AsRoot|rooted.OneFileSystem), nil
}

// makeDir makes one directory that the archive left out, or one in the place of a file that marks it as removed.
func (u *unpacker) makeDir(above int, dir string) error {
	_, base := rooted.Split(dir)
	hides := false
	if err := unix.Mkdirat(above, base, 0o700); err == unix.EEXIST {
		if hides = isWhiteout(above, base); !hides {
			return refuse(dir, "it is a file or a link to nowhere, and cannot hold entries")
		}
		if err := errors.Join(unix.Unlinkat(above, base, 0), unix.Mkdirat(above, base, 0o700)); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	return u.implicitDir(dir, hides)
}

// clear removes what stands in the way of an entry: of two with one name the later one counts.
func (u *unpacker) clear(parent int, base, name string) error {
	u.root.Stale() // what is removed may be a link that its name leads through
	err := unix.Unlinkat(parent, base, 0)
	if err == unix.EISDIR {
		err = unix.Unlinkat(parent, base, unix.AT_REMOVEDIR)
	}
	if err == unix.ENOTEMPTY || err == unix.EEXIST {
		return refuse(name, "it would replace a directory that is not empty")
	}
	if err != nil {
		return fmt.Errorf("remove its predecessor: %w", err)
	}
	return nil
}

func isWhiteout(parent int, base string) bool {
	var st unix.Stat_t
	err := unix.Fstatat(parent, base, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && IsWhiteout(&st)
}

// IsWhiteout says whether a file is one that marks another as removed: a device that stands for nothing.
func IsWhiteout(st *unix.Stat_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0
}
