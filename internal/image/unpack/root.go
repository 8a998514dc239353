//go:build linux

package unpack

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// root is the directory that is unpacked into. All names go through openDir, where the kernel holds links and
// dots inside of it; every other call names a single entry of a directory that is already open.
type root struct {
	fd       int
	last     string // the directory that lastFD is, because entries come sorted
	lastFD   int
	implicit func(dir string, hides bool) error // told of every directory that no entry asked for
}

// stale is no name that an entry has.
const stale = "/"

func openRoot(dir string) (*root, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	// A directory above may hand its group down, and new files would not be ours.
	if err := errors.Join(unix.Fchown(fd, -1, unix.Getegid()), unix.Fchmod(fd, 0o700)); err != nil {
		unix.Close(fd)
		return nil, &os.PathError{Op: "prepare", Path: dir, Err: err}
	}
	return &root{fd: fd, lastFD: -1}, nil
}

func (r *root) close() {
	r.forget()
	unix.Close(r.fd)
}

func (r *root) forget() {
	if r.lastFD >= 0 {
		unix.Close(r.lastFD)
		r.lastFD = -1
	}
}

// openDir opens a directory below the root. Links are followed as if the root were the whole machine's; with
// flags O_NOFOLLOW the last part may not be one.
func (r *root) openDir(dir string, flags uint64) (int, error) {
	if dir == "" {
		dir = "."
	}
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC | flags,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	}
	for {
		fd, err := unix.Openat2(r.fd, dir, &how)
		// EAGAIN: something was renamed somewhere while dots in a link were followed.
		if err != unix.EAGAIN && err != unix.EINTR {
			return fd, err
		}
	}
}

// parent opens the directory of an entry, made if it is missing. The descriptor is the root's to close.
func (r *root) parent(dir string) (int, error) {
	if dir == "" {
		return r.fd, nil
	}
	if r.lastFD >= 0 && r.last == dir {
		return r.lastFD, nil
	}
	r.forget()
	fd, err := r.openDir(dir, 0)
	if err == unix.ENOENT || err == unix.ENOTDIR {
		fd, err = r.makeDirs(dir)
	}
	if err == unix.ELOOP {
		return -1, &Refusal{dir, "its links lead in a circle"}
	}
	if err != nil {
		return -1, err
	}
	r.last, r.lastFD = dir, fd
	return fd, nil
}

// makeDirs makes the directories that an archive left out.
func (r *root) makeDirs(dir string) (int, error) {
	above, err := r.openDir("", 0)
	if err != nil {
		return -1, err
	}
	for end := 0; end < len(dir); end++ {
		if i := strings.IndexByte(dir[end:], '/'); i >= 0 {
			end += i
		} else {
			end = len(dir)
		}
		fd, err := r.openDir(dir[:end], 0)
		if err == unix.ENOENT || err == unix.ENOTDIR {
			fd, err = r.makeDir(above, dir[:end])
		}
		unix.Close(above)
		if err != nil {
			return -1, err
		}
		above = fd
	}
	return above, nil
}

// makeDir makes one missing directory, or one in the place of a file that marks it as removed.
func (r *root) makeDir(above int, dir string) (int, error) {
	_, base := split(dir)
	hides := false
	if err := unix.Mkdirat(above, base, 0o700); err == unix.EEXIST {
		if hides = isWhiteout(above, base); !hides {
			return -1, &Refusal{dir, "it is a file or a link to nowhere, and cannot hold entries"}
		}
		if err := errors.Join(unix.Unlinkat(above, base, 0), unix.Mkdirat(above, base, 0o700)); err != nil {
			return -1, err
		}
	} else if err != nil {
		return -1, err
	}
	if err := r.implicit(dir, hides); err != nil {
		return -1, err
	}
	return r.openDir(dir, unix.O_NOFOLLOW)
}

// clear removes what stands in the way of an entry: of two with one name the later one counts.
func (r *root) clear(parent int, base, name string) error {
	r.last = stale // what is removed may be a link that its name leads through
	err := unix.Unlinkat(parent, base, 0)
	if err == unix.EISDIR {
		err = unix.Unlinkat(parent, base, unix.AT_REMOVEDIR)
	}
	if err == unix.ENOTEMPTY || err == unix.EEXIST {
		return &Refusal{name, "it would replace a directory that is not empty"}
	}
	if err != nil {
		return fmt.Errorf("remove its predecessor: %w", err)
	}
	return nil
}

func isWhiteout(parent int, base string) bool {
	var st unix.Stat_t
	err := unix.Fstatat(parent, base, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0
}
