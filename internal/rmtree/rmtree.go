//go:build linux

// Package rmtree removes trees that somebody hostile may have made: of any depth,
// with links to anywhere, while holding only a few descriptors.
package rmtree

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Remove removes the tree at path. That there is none is no error.
func Remove(path string) error {
	err := unix.Unlink(path)
	if err == nil || err == unix.ENOENT {
		return nil
	}
	if err := Empty(path); err != nil {
		return err
	}
	if err := unix.Rmdir(path); err != nil && err != unix.ENOENT {
		return &os.PathError{Op: "remove", Path: path, Err: err}
	}
	return nil
}

// Empty removes what is in the directory at path.
func Empty(path string) error {
	top, err := openDir(unix.AT_FDCWD, path)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "remove", Path: path, Err: err}
	}
	defer top.Close()
	r := remover{top: int(top.Fd())}
	if name, err := r.empty(top, 0); err != nil {
		return &os.PathError{Op: "remove", Path: filepath.Join(path, name), Err: err}
	}
	return nil
}

// deepest is how many levels are open at once. What lies deeper is lifted into
// the top directory first.
const deepest = 64

type remover struct {
	top   int
	moved uint64
}

// empty removes what is in dir, and says what it could not remove. It reads dir
// until nothing is left: what was lifted comes to light, and a directory that
// changes under its reader may hide entries.
func (r *remover) empty(dir *os.File, depth int) (string, error) {
	for {
		if _, err := dir.Seek(0, 0); err != nil {
			return "", err
		}
		names, err := dir.Readdirnames(-1)
		if err != nil || len(names) == 0 {
			return "", err
		}
		for _, name := range names {
			if err := r.remove(int(dir.Fd()), name, depth); err != nil {
				return name, err
			}
		}
	}
}

// remove removes one entry, or lifts it if it lies too deep.
func (r *remover) remove(parent int, name string, depth int) error {
	err := unix.Unlinkat(parent, name, 0)
	if err == nil || err == unix.ENOENT {
		return nil
	}
	if err != unix.EISDIR {
		return err
	}
	sub, err := openDir(parent, name)
	if err != nil {
		return err
	}
	if depth == deepest {
		sub.Close()
		return r.lift(parent, name)
	}
	_, err = r.empty(sub, depth+1)
	sub.Close()
	if err != nil {
		return err
	}
	if err = unix.Unlinkat(parent, name, unix.AT_REMOVEDIR); err == unix.ENOENT {
		return nil
	}
	return err
}

// lift moves a directory to the top under a name that nothing has.
func (r *remover) lift(parent int, name string) error {
	for {
		r.moved++
		err := unix.Renameat2(parent, name, r.top, ".lifted-"+strconv.FormatUint(r.moved, 10), unix.RENAME_NOREPLACE)
		if err != unix.EEXIST {
			return err
		}
	}
}

// openDir opens a directory, and opens it up if its owner had closed it: whoever
// removes it as its owner, and not as root, would find it closed, too.
func openDir(parent int, name string) (*os.File, error) {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|flags, 0)
	if err == unix.EACCES {
		var closed int
		if closed, err = unix.Openat(parent, name, unix.O_PATH|flags, 0); err != nil {
			return nil, err
		}
		err = unix.Chmod("/proc/self/fd/"+strconv.Itoa(closed), 0o700)
		unix.Close(closed)
		if err == nil {
			fd, err = unix.Openat(parent, name, unix.O_RDONLY|flags, 0)
		}
	}
	if err != nil {
		return nil, err
	}
	var stat unix.Stat_t
	if unix.Fstat(fd, &stat) == nil && stat.Mode&0o700 != 0o700 {
		unix.Fchmod(fd, 0o700) // if it is not ours, removing what is in it will say so
	}
	return os.NewFile(uintptr(fd), name), nil
}
