package vet

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"hermes.example/hermes/internal/addon/manifest"
)

const (
	deepest = 64       // directories; real packages have about ten
	largest = 16 << 20 // of a file of metadata
)

// contents is a tree as it was found, and what was found against it.
type contents struct {
	files         map[string]*file
	directories   []string
	distributions []*distribution
	owners        map[string]*distribution // of a file, by RECORD; the first one's where there are several
	problems      []Problem
}

// file is one file of the tree.
type file struct {
	manifest.File
	content []byte // only of metadata
}

func (f *file) describe(content []byte) {
	f.Size = int64(len(content))
	f.SHA256 = fmt.Sprintf("%x", sha256.Sum256(content))
}

func (t *contents) refuse(rule Rule, file, why string, args ...any) {
	owner := t.owners[file]
	if owner == nil {
		owner = t.metadataOf(file)
	}
	t.problems = append(t.problems, Problem{rule, file, owner.String(), fmt.Sprintf(why, args...)})
}

// walk reads the whole tree once: one goroutine goes through the directories and opens the files, others hash them.
// Every name is resolved as an entry of a directory that is open, and links are not followed.
func walk(tree string) (*contents, error) {
	info, err := os.Lstat(tree)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a directory")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot check %s: %w", tree, err)
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil, fmt.Errorf("cannot check %s: %w", tree, err)
	}
	defer root.Close()
	w := &walker{
		contents: &contents{files: make(map[string]*file), owners: make(map[string]*distribution)},
		jobs:     make(chan job, 64),
	}
	for range runtime.GOMAXPROCS(0) {
		w.workers.Go(w.hash)
	}
	err = w.directory(root, "", 0)
	close(w.jobs)
	w.workers.Wait()
	if err := errors.Join(err, w.failed); err != nil {
		return nil, fmt.Errorf("cannot check %s: %w", tree, err)
	}
	return w.contents, nil
}

// walker belongs to walk, which waits for its workers.
type walker struct {
	*contents
	jobs    chan job
	workers sync.WaitGroup

	mu     sync.Mutex
	failed error // the first of a worker's
}

// job is a file that is open and to be hashed.
type job struct {
	*file
	open *os.File
}

func (w *walker) directory(root *os.Root, prefix string, depth int) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := prefix + e.Name()
		if why := unfit(e.Name()); why != "" {
			w.refuse(Name, name, "%s", why)
			continue
		}
		switch e.Type() {
		case 0:
			err = w.file(root, name, e.Name())
		case fs.ModeDir:
			err = w.below(root, name, e.Name(), depth+1)
		case fs.ModeSymlink:
			w.refuse(Link, name, "a symbolic link can lead anywhere")
		default:
			w.refuse(Special, name, "it is neither a file nor a directory")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) below(root *os.Root, name, base string, depth int) error {
	if depth > deepest {
		w.refuse(Name, name, "it lies deeper than %d directories", deepest)
		return nil
	}
	w.directories = append(w.directories, name)
	sub, err := root.OpenRoot(base)
	if err != nil {
		return err
	}
	defer sub.Close()
	return w.directory(sub, name+"/", depth)
}

func (w *walker) file(root *os.Root, name, base string) error {
	open, err := root.Open(base)
	if err != nil {
		return err
	}
	info, err := open.Stat()
	if err != nil {
		open.Close()
		return err
	}
	if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0 {
		w.refuse(Special, name, "its mode %v gives whoever runs it other rights", info.Mode())
	}
	f := &file{File: manifest.File{Path: name, Size: info.Size(), Exec: info.Mode()&0o111 != 0}}
	w.files[name] = f
	w.jobs <- job{f, open}
	return nil
}

func (w *walker) hash() {
	buf := make([]byte, 128<<10)
	for j := range w.jobs {
		err := j.read(buf)
		j.open.Close()
		if err != nil {
			w.mu.Lock()
			if w.failed == nil {
				w.failed = err
			}
			w.mu.Unlock()
		}
	}
}

func (j job) read(buf []byte) error {
	sum, size := sha256.New(), int64(0)
	keep := isMetadata(j.Path) && j.Size <= largest
	for {
		n, err := j.open.Read(buf)
		sum.Write(buf[:n])
		size += int64(n)
		if keep {
			j.content = append(j.content, buf[:n]...)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if size != j.Size {
		return fmt.Errorf("%.200q changed while it was read", j.Path)
	}
	j.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// isMetadata says whether a file says something about a distribution that has to be read.
func isMetadata(name string) bool {
	dir, base := path.Split(name)
	if !isDistInfo(strings.TrimSuffix(dir, "/")) {
		return false
	}
	return base == "METADATA" || base == "RECORD" || base == "entry_points.txt"
}

// unfit says why a name would not survive a manifest, an archive or another file system.
func unfit(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "its name is not UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "its name has control characters"
	case strings.ContainsRune(name, '\\'):
		return "its name has a backslash, which elsewhere separates directories"
	}
	return ""
}
