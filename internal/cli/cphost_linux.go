package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/tartree"
	"hermes.example/hermes/sandbox"
)

// source is a file or directory of the host that is copied.
type source struct {
	fd    int
	name  string // empty: what is in it is meant
	isDir bool
}

// openSource follows the source's own links, as cp does.
func openSource(path string) (*source, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	var st unix.Stat_t
	if err == nil {
		if err = unix.Fstat(fd, &st); err != nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot copy %q: %w", path, err)
	}
	return &source{fd, sourceName(path), st.Mode&unix.S_IFMT == unix.S_IFDIR}, nil
}

func (s *source) close() { unix.Close(s.fd) }

// packing is a source that writes itself as a tar stream.
type packing struct {
	io.Reader // none: it writes itself
	source    *source
	as        string
	limits    sandbox.CopyOptions
	meter     *meter
	result    tartree.Result
}

func (p *packing) WriteTo(w io.Writer) (int64, error) {
	var err error
	p.result, err = tartree.Pack(p.meter.writer(w), p.source.fd, p.as, tartree.Limits(p.limits))
	return p.result.Bytes, err
}

// writer counts what is written to w.
func (m *meter) writer(w io.Writer) io.Writer { return &meteredWriter{w, m} }

type meteredWriter struct {
	io.Writer
	meter *meter
}

func (w *meteredWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.meter.bytes.Add(int64(n))
	return n, err
}

// SendFile passes a whole file on, if the writer can take one.
func (w *meteredWriter) SendFile(fd int, n int64) (int64, error) {
	sender, ok := w.Writer.(interface {
		SendFile(fd int, n int64) (int64, error)
	})
	if !ok {
		return 0, errors.ErrUnsupported
	}
	had, err := sender.SendFile(fd, n)
	w.meter.bytes.Add(had)
	return had, err
}

// unpack makes files of a stream that somebody hostile may have written: nothing but the name that was asked for.
func (c *copying) unpack(ctx context.Context, from string, to plan) (sandbox.CopyResult, error) {
	if to.makeDir {
		if err := os.Mkdir(to.dir, 0o777); err != nil {
			return sandbox.CopyResult{}, fmt.Errorf("cannot copy: %w", err)
		}
	}
	dir, err := unix.Open(to.dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return sandbox.CopyResult{}, fmt.Errorf("cannot copy to %q: %w", to.dir, err)
	}
	defer unix.Close(dir)
	archive, err := c.files.CopyOut(ctx, from, to.as, c.limits)
	if err != nil {
		return sandbox.CopyResult{}, err
	}
	defer archive.Close()
	got, err := tartree.Unpack(dir, c.reader(archive), tartree.Options{Limits: tartree.Limits(c.limits), Top: to.as})
	if err != nil {
		return sandbox.CopyResult{}, err
	}
	res, err := archive.Result()
	res.Skipped += got.Skipped
	return res, err
}

func statHost(path string) (exists, isDir bool, err error) {
	info, err := os.Stat(path)
	return there(err, err == nil && info.IsDir())
}
