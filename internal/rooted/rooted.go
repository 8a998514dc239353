//go:build linux

// Package rooted resolves paths below a directory in which somebody hostile may have made links, and may go on
// making them meanwhile. The kernel does it: a check of the path's text sees no links, and a check of the links
// is out of date when it is used.
//
// The unpacker of images, the copier of trees and the guest's file service use it. It must never turn a path
// into a descriptor in another way.
package rooted

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// How says which links a path may lead through. Links to open files, as in /proc, never count.
type How uint64

const (
	// AsRoot follows links and dots as if the directory were the whole machine's root.
	AsRoot How = unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS
	// NoLinks follows none: a path leads where its text says, or nowhere.
	NoLinks How = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS
	// OneFileSystem added to one of the others crosses no mount either.
	OneFileSystem How = unix.RESOLVE_NO_XDEV
)

// Root is an open directory below which paths are resolved. Every path goes through Open; every other call names
// a single entry of a directory that is already open. It is made by New and lives until Close. Not safe for
// concurrent use.
type Root struct {
	// Make makes a directory that Parent misses, as an entry of the open directory above. Nil: nobody makes it.
	Make func(above int, dir string) error

	fd     int
	how    How
	last   string // the directory that lastFD is, because names come sorted
	lastFD int
}

// stale is no name that Clean returns.
const stale = "/"

// New makes a Root of an open directory, which from then on belongs to it.
func New(fd int, how How) *Root { return &Root{fd: fd, how: how, lastFD: -1} }

// FD is the directory itself. It stays the Root's.
func (r *Root) FD() int { return r.fd }

// Close closes all that the Root has open.
func (r *Root) Close() {
	r.Forget()
	unix.Close(r.fd)
}

// Open opens what path leads to. An empty path is the directory itself.
func (r *Root) Open(path string, flags int) (int, error) {
	if path == "" {
		path = "."
	}
	how := unix.OpenHow{Flags: uint64(flags) | unix.O_CLOEXEC, Resolve: uint64(r.how)}
	for {
		fd, err := unix.Openat2(r.fd, path, &how)
		// EAGAIN: something was renamed somewhere while dots were followed.
		if err != unix.EAGAIN && err != unix.EINTR {
			return fd, err
		}
	}
}

// OpenDir opens a directory for reading. With O_NOFOLLOW as flags the last part may not be a link.
func (r *Root) OpenDir(path string, flags int) (int, error) {
	return r.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|flags)
}

// Parent opens the directory of an entry by its clean name, made if it is missing. The descriptor is the Root's
// to close.
func (r *Root) Parent(dir string) (int, error) {
	if dir == "" {
		return r.fd, nil
	}
	if r.lastFD >= 0 && r.last == dir {
		return r.lastFD, nil
	}
	r.Forget()
	fd, err := r.OpenDir(dir, 0)
	if (err == unix.ENOENT || err == unix.ENOTDIR) && r.Make != nil {
		fd, err = r.makeAll(dir)
	}
	if err == unix.ELOOP {
		return -1, &Refusal{dir, r.loop()}
	}
	if err != nil {
		return -1, err
	}
	r.last, r.lastFD = dir, fd
	return fd, nil
}

func (r *Root) loop() string {
	if r.how&unix.RESOLVE_NO_SYMLINKS != 0 {
		return "a link is where one of its directories should be"
	}
	return "its links lead in a circle"
}

// makeAll makes the directories that are missing on the way to dir, and opens the last one. The others need not be
// readable to us.
func (r *Root) makeAll(dir string) (int, error) {
	above, err := r.Open("", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, err
	}
	for end := 0; end < len(dir); end++ {
		if i := strings.IndexByte(dir[end:], '/'); i >= 0 {
			end += i
		} else {
			end = len(dir)
		}
		fd, err := r.Open(dir[:end], unix.O_PATH|unix.O_DIRECTORY)
		if err == unix.ENOENT || err == unix.ENOTDIR {
			if err = r.Make(above, dir[:end]); err == nil {
				fd, err = r.Open(dir[:end], unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW)
			}
		}
		unix.Close(above)
		if err != nil {
			return -1, err
		}
		above = fd
	}
	defer unix.Close(above)
	return unix.Openat(above, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// Forget closes the directory that Parent keeps open.
func (r *Root) Forget() {
	if r.lastFD >= 0 {
		unix.Close(r.lastFD)
		r.lastFD = -1
	}
}

// Stale makes Parent resolve anew: an entry was replaced, and it may be a link that the last name leads through.
// The descriptor that Parent returned stays good until its next call.
func (r *Root) Stale() { r.last = stale }

// Reopen opens, for use, the very file that an O_PATH descriptor stands for. Between a look at a file and its
// use nobody can put another one in its place. It needs /proc.
func Reopen(fd, flags int) (int, error) {
	for {
		again, err := unix.Open(PathOf(fd), flags|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		if err != unix.EINTR {
			return again, err
		}
	}
}

// PathOf is a path to the very file that a descriptor stands for, for calls that only take paths. It needs /proc.
func PathOf(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
