package profile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/asuser"
	"hermes.example/hermes/internal/rooted"
)

// Home is a data directory and the profiles in it. Every file is used with the rights of one user, and every path
// below the root is resolved without following a link. It may be used by many at a time.
type Home struct {
	// Root is the directory of the default profile; Split finds it.
	Root string
	// Hand has the rights that files are used with; nil means the caller's own.
	Hand *asuser.Hand
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Dir is the directory of a profile.
func (h *Home) Dir(name string) string { return Dir(h.Root, name) }

func (h *Home) now() time.Time {
	if h.Now == nil {
		return time.Now()
	}
	return h.Now()
}

// at is where a profile's directory is below the root.
func at(name string) (string, error) {
	if name == Default {
		return "", nil
	}
	return filepath.Join(directory, name), Check(name)
}

// below calls do, with the user's rights, with a directory of the home that is open. The path is relative to the root.
func (h *Home) below(path string, do func(dir int) error) error {
	return h.Hand.Do(func() error {
		top, err := unix.Open(h.Root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return &os.PathError{Op: "open", Path: h.Root, Err: err}
		}
		root := rooted.New(top, rooted.NoLinks)
		defer root.Close()
		dir, err := root.OpenDir(path, 0)
		if err != nil {
			return &os.PathError{Op: "open", Path: filepath.Join(h.Root, path), Err: noLink(err)}
		}
		defer unix.Close(dir)
		return do(dir)
	})
}

// in is below for the directory of a profile.
func (h *Home) in(name string, do func(dir int) error) error {
	path, err := at(name)
	if err != nil {
		return err
	}
	return h.below(path, do)
}

// errLink is what the kernel's ELOOP means where no link is followed.
var errLink = errors.New("a link is there, and none is followed")

func noLink(err error) error {
	if errors.Is(err, unix.ELOOP) {
		return errLink
	}
	return err
}

// largest is what a file of ours may hold: far more than any has.
const largest = 1 << 20

// read returns the content of a small file in an open directory, and its mode. What is something else is an error,
// and never waited for.
func read(dir int, name string) ([]byte, os.FileMode, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, noLink(err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, errors.New("it is not a file")
	case info.Size() > largest:
		return nil, 0, fmt.Errorf("it is larger than %d bytes", largest)
	}
	content, err := io.ReadAll(io.LimitReader(f, largest))
	return content, info.Mode().Perm(), err
}

// reason is the kernel's own error of a call: the path that the call was given is only that of a descriptor.
func reason(err error) error {
	if errno := unix.Errno(0); errors.As(err, &errno) {
		return errno
	}
	return err
}

// gone says whether what failed was not there.
func gone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }
