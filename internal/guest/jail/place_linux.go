package jail

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
)

// place is a directory below which paths are looked up, and made, without ever leaving
// it: a link on the way is an error, because an image, or what ran in the sandbox
// before, may have put it there. It is the new root while the old one is still this
// process's.
type place struct{ *rooted.Root }

func openPlace(dir string) (place, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return place{}, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	root := rooted.New(fd, rooted.NoLinks)
	root.Make = func(above int, dir string) error { return unix.Mkdirat(above, path.Base(dir), 0o755) }
	return place{root}, nil
}

// below is a sandbox's path as one of the place.
func below(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// look opens what is there, to know it or to mount on it.
func (p place) look(name string, flags int) (int, error) {
	return p.Open(below(name), unix.O_PATH|flags)
}

// dir opens a directory, made with those above it if it is missing. It is the place's
// to close, with the next one.
func (p place) dir(name string) (int, error) {
	p.Stale() // something may have been mounted there since
	return p.Parent(below(name))
}

// in calls do with the directory of name and its last part.
func (p place) in(name string, do func(dir int, base string) error) error {
	dir, err := p.dir(path.Dir(path.Clean("/" + name)))
	if err != nil {
		return err
	}
	return do(dir, path.Base(name))
}

func (p place) link(name, target string) error {
	return p.in(name, func(dir int, base string) error { return unix.Symlinkat(target, dir, base) })
}

// write makes a file anew, whatever had its name.
func (p place) write(name string, content []byte) error {
	return p.in(name, func(dir int, base string) error {
		if err := unix.Unlinkat(dir, base, 0); err != nil && err != unix.ENOENT {
			return err
		}
		fd, err := unix.Openat(dir, base, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), name)
		_, err = f.Write(content)
		return errors.Join(err, f.Close())
	})
}

// mount mounts a file system of the kernel at a directory.
func (p place) mount(at, kind string, flags uintptr, options string) error {
	dir, err := p.dir(at)
	if err == nil {
		err = unix.Mount(kind, rooted.PathOf(dir), kind, flags, options)
	}
	if err != nil {
		return fmt.Errorf("cannot mount %s: %w", at, err)
	}
	return nil
}

// target opens, and makes where it is missing, a mount point.
func (p place) target(name string, directory bool) (int, error) {
	if directory {
		if _, err := p.dir(name); err != nil {
			return -1, err
		}
		return p.look(name, unix.O_DIRECTORY)
	}
	fd, err := p.look(name, 0)
	if err != unix.ENOENT {
		return fd, err
	}
	err = p.in(name, func(dir int, base string) error {
		made, err := unix.Openat(dir, base, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
		if err == nil {
			unix.Close(made)
		}
		return err
	})
	if err != nil {
		return -1, err
	}
	return p.look(name, 0)
}

// taken says which part of a mount point is something else than it has to be: commands
// of an earlier run may have put it there. It returns nil if nothing is in the way.
func (p place) taken(name string, directory bool) error {
	parts := strings.Split(below(name), "/")
	for i := range parts {
		part := path.Join(parts[:i+1]...)
		fd, err := p.look(part, unix.O_NOFOLLOW)
		if err != nil {
			return nil
		}
		var stat unix.Stat_t
		err = unix.Fstat(fd, &stat)
		unix.Close(fd)
		needed := uint32(unix.S_IFDIR)
		if i == len(parts)-1 && !directory {
			needed = unix.S_IFREG
		}
		if kind := stat.Mode & unix.S_IFMT; err == nil && kind != needed {
			return fmt.Errorf("/%s is %s where %s is needed; remove it, or mount elsewhere", part, kindName(kind), kindName(needed))
		}
	}
	return nil
}

func kindName(kind uint32) string {
	switch kind {
	case unix.S_IFDIR:
		return "a directory"
	case unix.S_IFLNK:
		return "a link"
	case unix.S_IFREG:
		return "a file"
	}
	return "a special file"
}
