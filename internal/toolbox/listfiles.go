package toolbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"hermes.example/hermes/sandbox"
)

const (
	defaultEntries = 200
	mostEntries    = 2000
	deepestListing = 10
	// mostInDirectory is how many entries of one directory are looked at.
	mostInDirectory = 50_000
)

// ListFiles shows what is in a directory, hidden files among it.
func (t *Toolbox) ListFiles(ctx context.Context, in ListFilesInput) (ListFilesOutput, error) {
	limit := bounded(in.Limit, defaultEntries, mostEntries)
	var out ListFilesOutput
	recreated, err := t.inTree(ctx, func(x tree) error {
		name, err := x.dir(in.Path)
		if err != nil {
			return err
		}
		info, err := x.files.Stat(ctx, name)
		if err != nil {
			return t.fileRefusal(ctx, x, "list", name, err)
		}
		if !info.Mode.IsDir() {
			return refuse("cannot list %q: it is no directory; read_file reads a file", name)
		}
		out = ListFilesOutput{Path: name, Entries: []FileEntry{}}
		room := t.settings.MaxOutput
		w := walk{x: x, depth: bounded(in.Depth, 1, deepestListing), visit: func(rel string, info sandbox.FileInfo) bool {
			room -= len(rel) + len(info.Link) + 40
			if out.Cut = len(out.Entries) == limit || room < 0; out.Cut {
				return false
			}
			out.Entries = append(out.Entries, entryOf(rel, info))
			return true
		}}
		if err := w.dir(ctx, name, "", 1); err != nil {
			return t.fileRefusal(ctx, x, "list", name, err)
		}
		if out.Cut {
			out.Notes = append(out.Notes, fmt.Sprintf("there is more than these %d entries; list a directory below, ask for less depth, or use search_files with target names", len(out.Entries)))
		}
		out.Notes = append(out.Notes, w.notes()...)
		return nil
	})
	out.Recreated = recreated
	return out, err
}

func entryOf(rel string, info sandbox.FileInfo) FileEntry {
	e := FileEntry{Path: rel, Kind: "other", Link: info.Link}
	switch {
	case info.Mode.IsRegular():
		e.Kind, e.Size = "file", info.Size
	case info.Mode.IsDir():
		e.Kind = "directory"
	case info.Mode&fs.ModeSymlink != 0:
		e.Kind = "link"
	}
	return e
}

// walk goes through directories in the order of names, each directory before what is in it. Links are not followed.
type walk struct {
	x     tree
	depth int
	// skip says which directories are not gone into; may be nil.
	skip func(base string) bool
	// visit says whether to go on.
	visit func(rel string, info sandbox.FileInfo) bool

	stopped          bool
	closed, overfull int // directories that could not be read, or not to their end
}

// dir visits what is in a directory. Only that the first one cannot be read is an error.
func (w *walk) dir(ctx context.Context, dir, rel string, level int) error {
	entries, err := w.x.entries(ctx, dir, mostInDirectory)
	switch {
	case errors.Is(err, sandbox.ErrTooLarge):
		w.overfull++
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && level > 1:
		w.closed++ // or gone meanwhile, or the kernel's own
		return nil
	case err != nil:
		return err
	}
	for _, e := range entries {
		name := path.Join(rel, e.Path)
		if w.stopped = w.stopped || !w.visit(name, e); w.stopped {
			return nil
		}
		if e.Mode.IsDir() && level < w.depth && (w.skip == nil || !w.skip(e.Path)) {
			if err := w.dir(ctx, path.Join(dir, e.Path), name, level+1); err != nil {
				return err
			}
		}
		if w.stopped {
			return nil
		}
	}
	return nil
}

func (w *walk) notes() (notes []string) {
	if w.closed > 0 {
		notes = append(notes, fmt.Sprintf("%d directories could not be read", w.closed))
	}
	if w.overfull > 0 {
		notes = append(notes, fmt.Sprintf("%d directories have more than %d entries, of which only some were looked at", w.overfull, mostInDirectory))
	}
	return notes
}
