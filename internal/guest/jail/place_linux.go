package jail

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// place is a directory below which paths are looked up, and made, without ever leaving
// it: a link on the way is an error, because an image, or what ran in the sandbox
// before, may have put it there. It is the new root while the old one is still this
// process's.
type place struct{ fd int }

func openPlace(dir string) (place, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return place{}, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return place{fd}, nil
}

func (p place) close() { unix.Close(p.fd) }

// descriptorPath is a path to an open file, for calls that only take paths.
func descriptorPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func (p place) open(name string, flags uint64) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	for {
		fd, err := unix.Openat2(p.fd, "./"+strings.TrimPrefix(path.Clean("/"+name), "/"), &how)
		if err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
	}
}

// openDir opens a directory, made with those above it if it is missing.
func (p place) openDir(name string) (int, error) {
	fd, err := p.open(name, unix.O_DIRECTORY)
	if err != unix.ENOENT || path.Clean("/"+name) == "/" {
		return fd, err
	}
	above, err := p.openDir(path.Dir(path.Clean("/" + name)))
	if err != nil {
		return -1, err
	}
	defer unix.Close(above)
	if err := unix.Mkdirat(above, path.Base(name), 0o755); err != nil {
		return -1, err
	}
	return p.open(name, unix.O_DIRECTORY)
}

func (p place) makeDir(name string) error {
	fd, err := p.openDir(name)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// in calls do with the directory of name and its last part.
func (p place) in(name string, do func(dir int, base string) error) error {
	dir, err := p.openDir(path.Dir(path.Clean("/" + name)))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
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
	dir, err := p.openDir(at)
	if err == nil {
		err = unix.Mount(kind, descriptorPath(dir), kind, flags, options)
		unix.Close(dir)
	}
	if err != nil {
		return fmt.Errorf("cannot mount %s: %w", at, err)
	}
	return nil
}

// target opens, and makes where it is missing, a mount point.
func (p place) target(name string, directory bool) (int, error) {
	if directory {
		return p.openDir(name)
	}
	fd, err := p.open(name, 0)
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
	return p.open(name, 0)
}

// taken says which part of a mount point is something else than it has to be: commands
// of an earlier run may have put it there. It returns nil if nothing is in the way.
func (p place) taken(name string, directory bool) error {
	parts := strings.Split(strings.Trim(path.Clean("/"+name), "/"), "/")
	for i := range parts {
		part := path.Join(parts[:i+1]...)
		fd, err := p.open(part, unix.O_NOFOLLOW)
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
