package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"time"

	"hermes.example/hermes/internal/wire"
)

// FileInfo is what is known of a file.
type FileInfo struct {
	// Path is relative to what was listed; empty where one file was asked for.
	Path string
	Mode fs.FileMode
	Size int64
	Time time.Time
	// UID and GID are its owner, inside.
	UID, GID uint32
	// Link is where a symbolic link leads.
	Link string
}

// Stat looks at a file; a link is followed.
func (f Files) Stat(ctx context.Context, path string) (FileInfo, error) {
	return f.stat(ctx, path, true)
}

// Lstat looks at a file, which may be a link.
func (f Files) Lstat(ctx context.Context, path string) (FileInfo, error) {
	return f.stat(ctx, path, false)
}

func (f Files) stat(ctx context.Context, path string, follow bool) (FileInfo, error) {
	frame, err := f.ask(ctx, wire.File{Op: wire.FileStat, Path: []byte(path), Follow: follow})
	if err != nil {
		return FileInfo{}, cannotFile("look at", path, err)
	}
	var entries []wire.FileEntry
	if err := frame.Decode(&entries); err != nil || len(entries) != 1 {
		return FileInfo{}, cannotFile("look at", path, errors.Join(errors.New("the guest's answer makes no sense"), err))
	}
	return publicInfo(entries[0]), nil
}

func publicInfo(e wire.FileEntry) FileInfo {
	return FileInfo{Path: string(e.Name), Mode: publicMode(e.Mode), Size: e.Size, Time: time.Unix(0, e.Time), UID: e.UID, GID: e.GID, Link: string(e.Link)}
}

// The kernel's bits of a file's type, which are the same on every Linux.
const (
	kindMask      = 0o170000
	kindSocket    = 0o140000
	kindLink      = 0o120000
	kindBlock     = 0o060000
	kindDirectory = 0o040000
	kindCharacter = 0o020000
	kindPipe      = 0o010000
	bitSetuid     = 0o4000
	bitSetgid     = 0o2000
	bitSticky     = 0o1000
)

func publicMode(kernels uint32) fs.FileMode {
	mode := fs.FileMode(kernels & 0o777)
	switch kernels & kindMask {
	case kindSocket:
		mode |= fs.ModeSocket
	case kindLink:
		mode |= fs.ModeSymlink
	case kindBlock:
		mode |= fs.ModeDevice
	case kindDirectory:
		mode |= fs.ModeDir
	case kindCharacter:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case kindPipe:
		mode |= fs.ModeNamedPipe
	}
	for bit, flag := range map[uint32]fs.FileMode{bitSetuid: fs.ModeSetuid, bitSetgid: fs.ModeSetgid, bitSticky: fs.ModeSticky} {
		if kernels&bit != 0 {
			mode |= flag
		}
	}
	return mode
}

// ListOptions bound a listing.
type ListOptions struct {
	// Depth is how many directories below the listed one are listed too; it is bounded by 255.
	Depth int
	// Entries is how many there may be; zero for 100,000. More are ErrTooLarge.
	Entries int
}

// List yields the entries of a directory, in no order, as they are found. An error is the last thing that it
// yields. Links are told of and not followed.
func (f Files) List(ctx context.Context, dir string, o ListOptions) iter.Seq2[FileInfo, error] {
	return func(yield func(FileInfo, error) bool) {
		if err := f.list(ctx, dir, o, func(i FileInfo) bool { return yield(i, nil) }); err != nil {
			yield(FileInfo{}, cannotFile("list", dir, err))
		}
	}
}

func (f Files) list(ctx context.Context, dir string, o ListOptions, yield func(FileInfo) bool) error {
	x, err := f.begin(ctx, wire.File{Op: wire.FileList, Path: []byte(dir), Depth: o.Depth, Entries: o.Entries})
	if err != nil {
		return err
	}
	defer x.end()
	for {
		frame, err := x.answer()
		if err != nil || frame.Type == wire.TypeFileEnd {
			return err
		}
		var entries []wire.FileEntry
		if err := frame.Decode(&entries); err != nil {
			return err
		}
		for _, e := range entries {
			if !yield(publicInfo(e)) {
				return nil
			}
		}
	}
}

// Mkdir makes a directory, with a mode that the umask of commands is taken off; zero is 0755. With parents it makes
// those above it too, and one that exists is no error.
func (f Files) Mkdir(ctx context.Context, path string, mode fs.FileMode, parents bool) error {
	_, err := f.ask(ctx, wire.File{Op: wire.FileMkdir, Path: []byte(path), Mode: uint32(mode.Perm()), All: parents})
	return cannotFile("make the directory", path, err)
}

// Remove removes a file, a link or an empty directory; with all, also what is in a directory.
func (f Files) Remove(ctx context.Context, path string, all bool) error {
	_, err := f.ask(ctx, wire.File{Op: wire.FileRemove, Path: []byte(path), All: all})
	return cannotFile("remove", path, err)
}

// Rename gives a file or directory another path below the same root, in place of what has it.
func (f Files) Rename(ctx context.Context, from, to string) error {
	_, err := f.ask(ctx, wire.File{Op: wire.FileRename, Path: []byte(from), To: []byte(to)})
	return cannotFile("rename", from, err)
}
