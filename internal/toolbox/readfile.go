package toolbox

import (
	"context"
	"io"
	"io/fs"

	"hermes.example/hermes/internal/toolbox/capture"
	"hermes.example/hermes/sandbox"
)

const (
	defaultLines = 500
	mostLines    = 2000
)

// ReadFile reads a part of a text file, by lines. A file is never in memory as a whole.
func (t *Toolbox) ReadFile(ctx context.Context, in ReadFileInput) (ReadFileOutput, error) {
	in.Limit = bounded(in.Limit, defaultLines, mostLines)
	if in.Offset == 0 {
		in.Offset = 1
	}
	if in.Offset < -mostLines {
		return ReadFileOutput{}, refuse("cannot read the last %d lines: %d are the most; give the line to begin with instead", -in.Offset, mostLines)
	}
	// It lies in the home, where the sandbox need not see it.
	if file, size, ok := capture.Reopen(t.home, in.Path); ok {
		defer file.Close()
		return t.page(file, in.Path, size, in)
	}
	var out ReadFileOutput
	recreated, err := t.inTree(ctx, func(x tree) error {
		name, err := x.path(in.Path)
		if err != nil {
			return err
		}
		info, err := x.files.Stat(ctx, name)
		if err == nil {
			err = readable(name, info)
		}
		var r io.ReadCloser
		if err == nil {
			r, err = x.files.Open(ctx, name, sandbox.Section{})
		}
		if err == nil {
			defer r.Close()
			out, err = t.page(r, name, info.Size, in)
		}
		return t.fileRefusal(ctx, x, "read", name, err)
	})
	out.Recreated = recreated
	return out, err
}

// bounded is a number that was asked for, between one and the most, or the usual one.
func bounded(n, usual, most int) int {
	if n <= 0 {
		return usual
	}
	return min(n, most)
}

// readable refuses what is no file.
func readable(name string, info sandbox.FileInfo) error {
	switch {
	case info.Mode.IsDir():
		return refuse("cannot read %q: it is a directory; list_files shows what is in it", name)
	case !info.Mode.IsRegular():
		return refuse("cannot read %q: it is %s, not a file; a command in the terminal can use it", name, kindName(info.Mode))
	}
	return nil
}

// kindName says what something is that is neither a file nor a directory.
func kindName(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSymlink != 0:
		return "a link"
	}
	return "something else"
}
