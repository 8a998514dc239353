package vet

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/addon/manifest"
)

const (
	deepest = 64       // directories; real packages have about ten
	largest = 16 << 20 // of a file of metadata
)

// walk reads the whole tree once: one goroutine goes through the directories, others read the files of each. Every name
// is resolved as an entry of a directory that is open, and links are not followed. A tree may have ten thousand files:
// none costs more calls of the kernel than it takes to open, look at, read and close it.
// Of the files that are to be kept their content is, too.
func walk(tree string, keep func(name string) bool) (*contents, error) {
	root, err := openAt(unix.AT_FDCWD, tree, unix.O_DIRECTORY)
	if err != nil {
		return nil, fmt.Errorf("cannot check %s: %w", tree, err)
	}
	w := &walker{
		contents: &contents{files: make(map[string]*file), owners: make(map[string]*distribution)},
		keep:     keep,
		batches:  make(chan batch, 16),
	}
	for range runtime.GOMAXPROCS(0) {
		w.readers.Go(w.read)
	}
	err = w.directory(root, "", 0)
	close(w.batches)
	w.readers.Wait()
	if err := errors.Join(err, w.failed); err != nil {
		return nil, fmt.Errorf("cannot check %s: %w", tree, err)
	}
	return w.contents, nil
}

// walker belongs to walk, which waits for its readers.
type walker struct {
	*contents
	keep    func(name string) bool
	batches chan batch
	readers sync.WaitGroup

	mu     sync.Mutex // over the contents, too
	failed error      // the first of a reader's
}

// batch is the files of one directory. Who has read them closes it.
type batch struct {
	dir    *os.File
	fd     int // the same
	prefix string
	names  []string
}

// directory takes a directory over, and hands its files on when it has been through what is below.
func (w *walker) directory(fd int, prefix string, depth int) error {
	dir := os.NewFile(uintptr(fd), prefix)
	entries, err := dir.ReadDir(-1)
	if err != nil {
		dir.Close()
		return err
	}
	files := batch{dir: dir, fd: fd, prefix: prefix}
	for _, e := range entries {
		name := prefix + e.Name()
		if why := unfit(e.Name()); why != "" {
			w.refuse(Name, name, "%s", why)
			continue
		}
		switch e.Type() {
		case 0:
			files.names = append(files.names, e.Name())
		case fs.ModeDir:
			err = w.below(fd, name, e.Name(), depth+1)
		case fs.ModeSymlink:
			w.refuse(Link, name, "a symbolic link can lead anywhere")
		default:
			w.refuse(Special, name, "it is neither a file nor a directory")
		}
		if err != nil {
			dir.Close()
			return err
		}
	}
	w.batches <- files
	return nil
}

func (w *walker) below(parent int, name, base string, depth int) error {
	if depth > deepest {
		w.refuse(Name, name, "it lies deeper than %d directories", deepest)
		return nil
	}
	w.directories = append(w.directories, name)
	fd, err := openAt(parent, base, unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	return w.directory(fd, name+"/", depth)
}

// refuse is for the walker and its readers alike.
func (w *walker) refuse(rule Rule, file, why string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.contents.refuse(rule, file, why, args...)
}

func (w *walker) read() {
	buf := make([]byte, 128<<10)
	for b := range w.batches {
		var all []*file
		var err error
		for _, name := range b.names {
			var f *file
			if f, err = w.file(b.fd, b.prefix+name, name, buf); err != nil {
				break
			}
			all = append(all, f)
		}
		b.dir.Close()
		w.mu.Lock()
		for _, f := range all {
			w.files[f.Path] = f
		}
		if w.failed == nil {
			w.failed = err
		}
		w.mu.Unlock()
	}
}

func (w *walker) file(dir int, name, base string, buf []byte) (*file, error) {
	fd, err := openAt(dir, base, unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return nil, os.NewSyscallError("fstat", err)
	}
	if info.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, fmt.Errorf("%.200q changed while it was looked at", name)
	}
	if info.Mode&(unix.S_ISUID|unix.S_ISGID|unix.S_ISVTX) != 0 {
		w.refuse(Special, name, "its mode %04o gives whoever runs it other rights", info.Mode&0o7777)
	}
	f := &file{File: manifest.File{Path: name, Size: info.Size, Exec: info.Mode&0o111 != 0}}
	return f, f.read(fd, buf, w.keep(name))
}

// read hashes the file, and keeps its content if it is wanted and not too large.
func (f *file) read(fd int, buf []byte, keep bool) error {
	sum, size := sha256.New(), int64(0)
	keep = keep && f.Size <= largest
	for size < f.Size {
		n, err := unix.Read(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return os.NewSyscallError("read", err)
		}
		if n == 0 {
			break
		}
		sum.Write(buf[:n])
		size += int64(n)
		if keep {
			f.content = append(f.content, buf[:n]...)
		}
	}
	if size != f.Size {
		return fmt.Errorf("%.200q changed while it was read", f.Path)
	}
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// openAt opens an entry of a directory for reading; flags narrow down what it may be.
func openAt(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|flags, 0)
		switch err {
		case nil:
			return fd, nil
		case unix.EINTR:
		default:
			return -1, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
}
