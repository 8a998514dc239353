package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"hermes.example/hermes/internal/wire"
)

// Section is a part of a file. The zero value is all of it.
type Section struct {
	Offset int64
	Limit  int64 // how many bytes at most; zero for all
}

// Open reads a file as a stream. The stream is the caller's to close; it ends early when ctx does.
func (f Files) Open(ctx context.Context, path string, s Section) (io.ReadCloser, error) {
	if s.Offset < 0 || s.Limit < 0 {
		return nil, cannotFile("read", path, errors.New("the offset and the limit must not be negative"))
	}
	return f.open(ctx, "read", path, wire.File{Op: wire.FileRead, Offset: s.Offset, Limit: s.Limit})
}

// open makes a request that is answered by a stream of bytes.
func (f Files) open(ctx context.Context, what, path string, req wire.File) (*fileReader, error) {
	req.Path = []byte(path)
	x, err := f.begin(ctx, req)
	if err != nil {
		return nil, cannotFile(what, path, err)
	}
	r := &fileReader{x: x, data: wire.NewDataReader(x.Reader), what: what, path: path}
	// The first byte shows whether there is anything at all.
	first := make([]byte, 1)
	n, err := io.ReadFull(r, first)
	if err != nil && err != io.EOF {
		x.end()
		return nil, err
	}
	r.first = first[:n]
	return r, nil
}

// fileReader is a stream of bytes from the guest.
type fileReader struct {
	x          *fileStream
	data       *wire.DataReader
	what, path string
	first      []byte
	ended      bool
}

func (r *fileReader) Read(p []byte) (int, error) {
	if len(r.first) > 0 && len(p) > 0 {
		n := copy(p, r.first)
		r.first = r.first[n:]
		return n, nil
	}
	n, err := r.data.Read(p)
	if err != nil && err != io.EOF {
		err = cannotFile(r.what, r.path, r.x.why(err))
	}
	return n, err
}

func (r *fileReader) Close() error {
	if !r.ended {
		r.ended = true
		r.x.end()
	}
	return nil
}

// ReadFile returns the content of a file that has at most limit bytes. Of a larger one it returns ErrTooLarge and
// nothing.
func (f Files) ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	r, err := f.Open(ctx, path, Section{Limit: limit + 1})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, cannotFile("read", path, fmt.Errorf("%w of %d bytes", ErrTooLarge, limit))
	}
	return content, nil
}

// WriteOptions say how a file is written.
type WriteOptions struct {
	// Mode is the file's permissions; zero keeps those of a file that is replaced, and is 0644 for a new one.
	Mode fs.FileMode
	// Append adds to the file instead of replacing it.
	Append bool
	// Limit is how many bytes may be written; zero for any number.
	Limit int64
}

// Write makes a file of what content yields, and returns how many bytes that were. It appears under its name when
// it is whole, in place of a file or link of that name; on an error, what was there before stays. Only an append
// shows while it is under way.
func (f Files) Write(ctx context.Context, path string, content io.Reader, o WriteOptions) (int64, error) {
	res, err := f.send(ctx, wire.File{Op: wire.FileWrite, Path: []byte(path), Mode: uint32(o.Mode.Perm()), Append: o.Append, Limit: o.Limit}, content)
	return res.Bytes, cannotFile("write", path, err)
}

// WriteFile is Write with content in memory.
func (f Files) WriteFile(ctx context.Context, path string, content []byte, mode fs.FileMode) error {
	_, err := f.Write(ctx, path, bytes.NewReader(content), WriteOptions{Mode: mode})
	return err
}
