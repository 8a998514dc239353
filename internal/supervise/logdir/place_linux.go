// Package logdir keeps what a service said: a directory with the file "current" and its ten predecessors, in the
// form that s6-log gives it, so that an older volume and the tools for it go on working.
//
// The supervisor writes it, and whoever shows a log reads it, also one that s6-log wrote. It has no lock: one
// supervisor writes. The directory lies on a volume that belongs to somebody else, so all of it is done with that
// user's rights and without following a link.
package logdir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/asuser"
	"hermes.example/hermes/internal/rooted"
)

// Place is where a log is, and with whose rights it is used.
type Place struct {
	// Dir is the directory of the log.
	Dir string
	// Volume is a directory below which no link is followed, if Dir is there. Otherwise only Dir itself is none.
	Volume string
	// Hand has the rights; nil means the caller's own.
	Hand *asuser.Hand
}

const current = "current"

// open opens the directory, made on request. It is called with the user's rights.
func (p Place) open(make bool) (*os.File, error) {
	base, rest := filepath.Dir(p.Dir), filepath.Base(p.Dir)
	if below, err := filepath.Rel(p.Volume, p.Dir); p.Volume != "" && err == nil && filepath.IsLocal(below) && below != "." {
		base, rest = p.Volume, below
	}
	fd, err := unix.Open(base, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: base, Err: err}
	}
	root := rooted.New(fd, rooted.NoLinks)
	defer root.Close()
	if make {
		root.Make = func(above int, dir string) error { return unix.Mkdirat(above, filepath.Base(dir), 0o755) }
	}
	dir, err := root.Parent(rest)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: p.Dir, Err: err}
	}
	if dir, err = unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 0); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(dir), p.Dir), nil
}

// openIn opens a file of the directory: a plain one and no link, and one that nobody has to be waited for.
func openIn(dir *os.File, name string, flags int) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0o644)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: filepath.Join(dir.Name(), name), Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return nil, fmt.Errorf("cannot open %s: %w", filepath.Join(dir.Name(), name), errors.Join(errNoFile, err))
	}
	return os.NewFile(uintptr(fd), name), nil
}

var errNoFile = errors.New("it is not a file")

// mostNames is how many files are looked at: a directory that others fill up with theirs is not read to its end.
const mostNames = 1024

// archives are the names of the predecessors, oldest first.
func archives(dir *os.File) ([]string, error) {
	// A descriptor of its own, because a listing goes on where the last one ended.
	fd, err := unix.Openat(int(dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("open", err)
	}
	again := os.NewFile(uintptr(fd), dir.Name())
	defer again.Close()
	names, err := again.Readdirnames(mostNames)
	if err != nil && err != io.EOF {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !isArchive(name) })
	slices.Sort(names)
	return names, nil
}

// isArchive knows an archive by its name: "@", a time of 24 hexadecimal digits, ".s" or ".u".
func isArchive(name string) bool {
	digits, ok := strings.CutPrefix(name, "@")
	if !ok || len(digits) != 26 || digits[24] != '.' || digits[25] != 's' && digits[25] != 'u' {
		return false
	}
	return strings.Trim(digits[:24], "0123456789abcdef") == ""
}

// archiveName is the name for a time: its TAI64N label, as s6-log writes it, so that names are in order of time.
func archiveName(t time.Time) string {
	const leapSeconds = 37 // between TAI and UTC since 2017
	return fmt.Sprintf("@%016x%08x.s", uint64(1<<62)+uint64(t.Unix()+leapSeconds), t.Nanosecond())
}
