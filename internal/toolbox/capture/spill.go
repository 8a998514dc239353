package capture

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of the files that hold whole outputs.
const (
	mostChars = 5_000_000
	mostFiles = 100
	kept      = 7 * 24 * time.Hour
)

// Directory is where in a home they are.
const Directory = "cache/terminal-output"

// What the name of one begins and ends with. The time is between them, so that names sort by age.
const (
	spillBegin = "out-"
	spillEnd   = ".log"
)

// spill is a file with a whole output: only its owner's to read, and never one that was there before.
type spill struct {
	path  string
	file  *os.File
	w     *bufio.Writer
	chars int
	full  bool
	err   error
}

// newSpill makes a file, and removes those that are too old or too many.
func newSpill(home string, now time.Time) (*spill, error) {
	dir, err := openDirectory(home, true)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := dir.Chmod(".", 0o700); err != nil {
		return nil, fmt.Errorf("cannot keep others out of %s in %s: %w", Directory, home, err)
	}
	prune(dir, now)
	var random [4]byte
	rand.Read(random[:])
	name := spillBegin + now.UTC().Format("20060102T150405") + "-" + hex.EncodeToString(random[:]) + spillEnd
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot make a file for the output: %w", err)
	}
	return &spill{path: filepath.Join(home, filepath.FromSlash(Directory), name), file: file, w: bufio.NewWriterSize(file, 64<<10)}, nil
}

// openDirectory opens the directory of the files, made if that is wanted, and follows no link on the way to it: in a home that
// commands can write to, one could lead anywhere.
func openDirectory(home string, create bool) (*os.Root, error) {
	dir, err := os.OpenRoot(home)
	if err != nil {
		return nil, fmt.Errorf("cannot open the home: %w", err)
	}
	for name := range strings.SplitSeq(Directory, "/") {
		if create {
			err = dir.Mkdir(name, 0o700)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			dir.Close()
			return nil, fmt.Errorf("cannot make %s in %s: %w", Directory, home, err)
		}
		below, err := descend(dir, name)
		dir.Close()
		if err != nil {
			return nil, fmt.Errorf("cannot open %s in %s: %w", Directory, home, err)
		}
		dir = below
	}
	return dir, nil
}

func descend(dir *os.Root, name string) (*os.Root, error) {
	below, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := below.Stat(".")
	if err == nil {
		var entry fs.FileInfo
		if entry, err = dir.Lstat(name); err == nil && !os.SameFile(opened, entry) {
			err = fmt.Errorf("%s is a link; remove it", name)
		}
	}
	if err != nil {
		below.Close()
		return nil, err
	}
	return below, nil
}

// prune removes what is too old, and the oldest of what is too much. What cannot be removed is left.
func prune(dir *os.Root, now time.Time) {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !isSpill(e.Name()) })
	for i, e := range entries {
		info, err := e.Info()
		if err == nil && now.Sub(info.ModTime()) > kept || len(entries)-i >= mostFiles {
			dir.Remove(e.Name())
		}
	}
}

// isSpill tells the names of these files from others.
func isSpill(name string) bool {
	return strings.HasPrefix(name, spillBegin) && strings.HasSuffix(name, spillEnd)
}

func (s *spill) write(p []byte) {
	if s.full || s.err != nil {
		return
	}
	if n := utf8.RuneCount(p); s.chars+n <= mostChars {
		s.chars += n
	} else {
		p = p[:chars(p, mostChars-s.chars)]
		s.chars, s.full = mostChars, true
	}
	_, s.err = s.w.Write(p)
}

// finish completes the file, and says what it lacks.
func (s *spill) finish() string {
	if s.full && s.err == nil {
		_, s.err = fmt.Fprintf(s.w, "\n[%s]\n", cutRemark)
	}
	flushed, closed := s.w.Flush(), s.file.Close()
	if err := cmp.Or(s.err, flushed, closed); err != nil { // the first is why there are others
		return "the file with the output is not whole: " + err.Error()
	}
	if s.full {
		return "of the file with the output: " + cutRemark
	}
	return ""
}

var cutRemark = "it holds the first " + thousands(mostChars) + " characters only"
