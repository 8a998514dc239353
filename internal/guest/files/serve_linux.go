// Package files is the guest's service for files: it reads, writes, lists, changes, watches and copies what the
// sandbox's commands could.
//
// The guest calls it on a thread that has given up everything a command does not have; it adds no rights and
// checks none. What it adds is that paths stay below the root that the caller named, whatever links say, that
// nothing is opened but files and directories, and nothing of what the kernel makes up: the guest's own memory
// is a file in /proc.
package files

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
	"hermes.example/hermes/internal/tartree"
	"hermes.example/hermes/internal/wire"
)

// service is one request at work.
type service struct {
	req  wire.File
	root *rooted.Root
	r    *wire.Reader
	w    *wire.Writer
	gone func() bool
	rule *rule // nil for none
}

// Serve answers one request with the rights of the calling thread. A watch is not among them: see OpenWatch.
// Gone says whether the caller has left.
func Serve(req wire.File, r *wire.Reader, w *wire.Writer, gone func() bool) {
	if err := serve(req, r, w, gone); err != nil {
		// A caller that is gone does not read it either.
		_ = w.WriteMessage(wire.TypeError, Failure(err))
	}
}

func serve(req wire.File, r *wire.Reader, w *wire.Writer, gone func() bool) error {
	root, err := openRoot(req)
	if err != nil {
		return err
	}
	defer root.Close()
	s := &service{req: req, root: root, r: r, w: w, gone: gone}
	if req.Op == wire.FileRuled {
		if s.rule, err = openRule(req); err != nil {
			return err
		}
		defer s.rule.close()
		return s.ruled(req.Rule.Op)
	}
	return s.do(req.Op)
}

func (s *service) do(op wire.FileOp) error {
	switch op {
	case wire.FileRead:
		return s.read()
	case wire.FileWrite:
		return s.write()
	case wire.FileStat:
		return s.stat()
	case wire.FileList:
		return s.list()
	case wire.FileMkdir:
		return s.done(s.mkdir())
	case wire.FileRemove:
		return s.done(s.remove())
	case wire.FileRename:
		return s.done(s.rename())
	case wire.FileCopyIn:
		return s.copyIn()
	case wire.FileCopyOut:
		return s.copyOut()
	}
	return &refusal{fmt.Sprintf("this guest cannot %q", op)}
}

// openRoot opens the directory that the request stays in. Its own path is one of the sandbox.
func openRoot(req wire.File) (*rooted.Root, error) {
	top, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	whole := rooted.New(top, rooted.AsRoot)
	defer whole.Close()
	fd, err := whole.Open(string(req.Root), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, fmt.Errorf("its root %.200q: %w", req.Root, err)
	}
	return rooted.New(fd, rooted.AsRoot), nil
}

func (s *service) path() string { return string(s.req.Path) }

func (s *service) done(err error) error {
	if err != nil {
		return err
	}
	return s.w.Write(wire.TypeOK, nil)
}

// look opens a file as a place only, which does nothing to it, and sees what it is.
func (s *service) look(path string, flags int) (int, unix.Stat_t, error) {
	fd, err := s.root.Open(path, unix.O_PATH|flags)
	if err != nil {
		return -1, unix.Stat_t{}, err
	}
	st, err := ordinary(fd)
	if err == nil && s.rule != nil {
		err = s.rule.allowFile(fd, &st)
	}
	if err != nil {
		unix.Close(fd)
		return -1, st, err
	}
	return fd, st, nil
}

// ordinary refuses what the kernel makes up.
func ordinary(fd int) (unix.Stat_t, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return st, err
	}
	var devices rooted.Devices
	kernels, err := devices.Kernels(fd, &st)
	if err == nil && kernels {
		err = errKernels
	}
	return st, err
}

// openFile opens a regular file for use, and never anything else, not even for a moment.
func (s *service) openFile(path string, flags int) (int, error) {
	place, st, err := s.look(path, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(place)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return rooted.Reopen(place, flags)
	case unix.S_IFDIR:
		return -1, unix.EISDIR
	}
	return -1, errKind
}

// parent opens the directory of a path's last part, which is returned too.
func (s *service) parent(path string) (dir int, base string, err error) {
	above, base := rooted.Split(strings.TrimRight(path, "/"))
	if base == "" || base == "." || base == ".." {
		return -1, "", &refusal{"it names no entry of a directory"}
	}
	dir, _, err = s.look(above, unix.O_DIRECTORY)
	if err == nil && s.rule != nil {
		dir, err = s.rule.settle(dir, base)
	}
	return dir, base, err
}

var (
	errKernels = &refusal{"it belongs to a file system that the kernel makes up; read it by a command"}
	errKind    = &refusal{"it is neither a file nor a directory"}
)

// refusal is a request that could be carried out, but is not.
type refusal struct{ why string }

func (e *refusal) Error() string { return e.why }

// tooLarge is a request that reached its limit.
type tooLarge struct{ limit string }

func (e *tooLarge) Error() string { return "it is larger than " + e.limit }

// Failure is an error as the caller is told of it.
func Failure(err error) *wire.Failure {
	f := &wire.Failure{Code: wire.FailureInternal, Message: err.Error()}
	var refused *refusal
	var name *rooted.Refusal
	var large *tooLarge
	var copied *tartree.TooLarge
	switch {
	case errors.Is(err, errOutside):
		f.Code = wire.FailureOutside
	case errors.Is(err, errProtected):
		f.Code = wire.FailureProtected
	case errors.Is(err, unix.ENOENT):
		f.Code = wire.FailureNotFound
	case errors.Is(err, unix.EEXIST):
		f.Code = wire.FailureExists
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM), errors.Is(err, unix.EROFS):
		f.Code = wire.FailureDenied
	case errors.As(err, &large), errors.As(err, &copied):
		f.Code = wire.FailureTooLarge
	case errors.As(err, &refused), errors.As(err, &name), errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EISDIR),
		errors.Is(err, unix.EXDEV), errors.Is(err, unix.ENAMETOOLONG), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTEMPTY),
		errors.Is(err, tar.ErrHeader), errors.Is(err, tar.ErrFieldTooLong), errors.Is(err, io.ErrUnexpectedEOF):
		f.Code = wire.FailureRefused
	}
	return f
}
