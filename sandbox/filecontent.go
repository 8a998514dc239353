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
	x, err := f.begin(ctx, wire.File{Op: wire.FileRead, Path: []byte(path), Offset: s.Offset, Limit: s.Limit})
	if err != nil {
		return nil, cannotFile("read", path, err)
	}
	r := &fileReader{x: x, data: wire.NewDataReader(x.Reader), path: path}
	// The first bytes show whether there is a file at all.
	first := make([]byte, 1)
	n, err := io.ReadFull(r, first)
	if err != nil && err != io.EOF {
		x.end()
		return nil, err
	}
	r.first = first[:n]
	return r, nil
}

// fileReader is an open file.
type fileReader struct {
	x     *fileStream
	data  *wire.DataReader
	path  string
	first []byte
	ended bool
}

func (r *fileReader) Read(p []byte) (int, error) {
	if len(r.first) > 0 && len(p) > 0 {
		n := copy(p, r.first)
		r.first = r.first[n:]
		return n, nil
	}
	n, err := r.data.Read(p)
	if err != nil && err != io.EOF {
		err = cannotFile("read", r.path, r.x.why(err))
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

// CopyOptions bound a copy. Zero means the defaults: 64 GiB and a million entries.
type CopyOptions struct {
	Bytes   int64
	Entries int
}

// CopyResult is what was copied.
type CopyResult struct {
	Bytes   int64 `json:"bytes"`
	Entries int   `json:"entries"`
	// Skipped are devices, pipes and sockets, which are not copied.
	Skipped int `json:"skipped,omitempty"`
	// Changed are files that became shorter while they were read; zeros stand for what was gone.
	Changed int `json:"changed,omitempty"`
}

// CopyIn unpacks a tar stream into a directory that exists. All of it belongs to the sandbox's user; owners,
// set-id bits and devices of the archive do not count. Names that lead out of the directory, or through a link,
// are refused. A file appears when it is whole, in place of a file or link of its name; directories that exist
// stay as they are. What was whole before an error stays, and the error names where it stopped.
func (f Files) CopyIn(ctx context.Context, dir string, archive io.Reader, o CopyOptions) (CopyResult, error) {
	res, err := f.send(ctx, wire.File{Op: wire.FileCopyIn, Path: []byte(dir), Limit: o.Bytes, Entries: o.Entries}, archive)
	return CopyResult(res), cannotFile("copy into", dir, err)
}

// CopyOut writes a file or directory as a tar stream in which it has the name as; with an empty name the stream
// has what is in the directory. Links on the way to path are followed, those below it are copied as links.
//
// The archive was made inside: whoever unpacks it must not trust its names.
func (f Files) CopyOut(ctx context.Context, path, as string, archive io.Writer, o CopyOptions) (CopyResult, error) {
	x, err := f.begin(ctx, wire.File{Op: wire.FileCopyOut, Path: []byte(path), To: []byte(as), Limit: o.Bytes, Entries: o.Entries})
	if err != nil {
		return CopyResult{}, cannotFile("copy", path, err)
	}
	defer x.end()
	data := wire.NewDataReader(x.Reader)
	var writeErr error
	_, err = io.CopyBuffer(onlyWriter{archive, &writeErr}, onlyReader{data}, make([]byte, wire.DataChunk))
	switch {
	case writeErr != nil:
		return CopyResult{}, writeErr
	case err != nil:
		return CopyResult{}, cannotFile("copy", path, x.why(err))
	}
	var res wire.FileResult
	err = data.End.Decode(&res)
	return CopyResult(res), cannotFile("copy", path, err)
}

// onlyReader and onlyWriter keep io.CopyBuffer to the buffer that it was given, and tell errors of the two sides
// apart.
type onlyReader struct{ io.Reader }

type onlyWriter struct {
	w   io.Writer
	err *error
}

func (o onlyWriter) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	*o.err = err
	return n, err
}
