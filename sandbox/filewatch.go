package sandbox

import (
	"context"
	"iter"

	"hermes.example/hermes/internal/wire"
)

// FileEvent is something that happened to a watched file, or in a watched directory.
type FileEvent struct {
	// Name is of the entry that it happened to; empty where it is the watched file or directory itself.
	Name string
	Kind FileEventKind
	// Dir says that the entry is a directory.
	Dir bool
}

// FileEventKind says what happened.
type FileEventKind string

// The kinds.
const (
	FileCreated FileEventKind = "created" // also: moved here
	FileChanged FileEventKind = "changed" // it was written
	FileClosed  FileEventKind = "closed"  // who wrote it is done
	FileRemoved FileEventKind = "removed" // also: moved or unmounted away
	FileTouched FileEventKind = "touched" // owner, mode or times are others
	FileLost    FileEventKind = "lost"    // more happened than could be kept: look for yourself
)

// Bits of inotify, which are the same on every Linux.
var fileEventKinds = []struct {
	bits uint32
	kind FileEventKind
}{
	{0x100 | 0x80, FileCreated}, {0x2, FileChanged}, {0x8, FileClosed}, {0x200 | 0x400 | 0x40 | 0x800 | 0x2000, FileRemoved},
	{0x4, FileTouched}, {0x4000, FileLost},
}

const fileEventDir = 0x40000000

// Watch begins to watch a file or the entries of a directory, and returns when everything that happens from then
// on will be seen. The sequence yields it until ctx ends, which is not an error, or the watched one is gone. It can
// be ranged over once; whoever does not range over it must end ctx.
func (f Files) Watch(ctx context.Context, path string) (iter.Seq2[FileEvent, error], error) {
	x, err := f.begin(ctx, wire.File{Op: wire.FileWatch, Path: []byte(path)})
	if err != nil {
		return nil, cannotFile("watch", path, err)
	}
	if _, err := x.answer(); err != nil {
		x.end()
		return nil, cannotFile("watch", path, err)
	}
	return func(yield func(FileEvent, error) bool) {
		defer x.end()
		for {
			frame, err := x.answer()
			if ctx.Err() != nil || err == nil && frame.Type == wire.TypeFileEnd {
				return
			}
			var events []wire.FileEvent
			if err == nil {
				err = frame.Decode(&events)
			}
			if err != nil {
				yield(FileEvent{}, cannotFile("watch", path, err))
				return
			}
			for _, e := range events {
				if !yield(publicFileEvent(e), nil) {
					return
				}
			}
		}
	}, nil
}

func publicFileEvent(e wire.FileEvent) FileEvent {
	event := FileEvent{Name: string(e.Name), Dir: e.Mask&fileEventDir != 0}
	for _, k := range fileEventKinds {
		if e.Mask&k.bits != 0 {
			event.Kind = k.kind
			break
		}
	}
	return event
}
