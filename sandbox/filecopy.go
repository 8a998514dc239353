package sandbox

import (
	"context"
	"io"

	"hermes.example/hermes/internal/wire"
)

// CopyOptions bound a copy. Zero means the defaults: 64 GiB and a million entries.
type CopyOptions struct {
	Bytes   int64
	Entries int
}

// CopyResult is what was copied.
type CopyResult struct {
	Bytes   int64 `json:"bytes"`
	Entries int   `json:"entries"`
	// Skipped are devices, pipes and sockets, and what the kernel makes up: they are not copied.
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

// CopyOut reads a file or directory as a tar stream in which it has the name as; with an empty name the stream
// has what is in the directory. Links on the way to path are followed, those below it are copied as links.
//
// The archive was made inside: whoever unpacks it must not trust its names.
func (f Files) CopyOut(ctx context.Context, path, as string, o CopyOptions) (*Archive, error) {
	r, err := f.open(ctx, "copy", path, wire.File{Op: wire.FileCopyOut, To: []byte(as), Limit: o.Bytes, Entries: o.Entries})
	if err != nil {
		return nil, err
	}
	return &Archive{r}, nil
}

// Archive is a tar stream on its way out of a sandbox. It is the caller's to close.
type Archive struct{ *fileReader }

// Result is what the stream held. It is known after a Read that returned io.EOF.
func (a *Archive) Result() (CopyResult, error) {
	var res wire.FileResult
	err := a.data.End.Decode(&res)
	return CopyResult(res), err
}
