package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"hermes.example/hermes/internal/addon/manifest"
	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/internal/rundir"
)

// Writer is the only one that changes the store, of all processes, from Write to Close. What it staged and did not
// publish is gone after Close. It is not safe for concurrent use.
type Writer struct {
	*Store
	held *rundir.Lock
	// mark is the lock's file as it was when it was taken.
	mark os.FileInfo
	// stay are features that are wanted though what is published next does not have them.
	stay []string
	// adopted are the files that were taken over, by what is staged and by path.
	adopted map[string]map[string]manifest.File
}

// NotWritableError says that the target cannot be written.
type NotWritableError struct {
	Target string
	Err    error
}

func (e *NotWritableError) Error() string {
	return fmt.Sprintf("lazy install target %s is not writable: %v; give it to user %d, or set HERMES_LAZY_INSTALL_TARGET to a directory that is",
		e.Target, e.Err, os.Geteuid())
}

func (e *NotWritableError) Unwrap() error { return e.Err }

// explain names the target where the reason is that nobody may write it.
func (s *Store) explain(err error) error {
	if known := (*NotWritableError)(nil); errors.As(err, &known) {
		return err
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return &NotWritableError{s.target, err}
	}
	return err
}

// Write waits until no other process writes, at most as long as ctx lasts, makes the store's directories if they are
// missing, and removes what writers that were killed left. What was missing before may be there now: ask again.
func (s *Store) Write(ctx context.Context) (*Writer, error) {
	if err := s.makeDirs(s.target, s.private()); err != nil {
		return nil, fmt.Errorf("cannot write the add-on store: %w", s.explain(err))
	}
	held, err := rundir.Acquire(ctx, s.lock())
	if err != nil && noLocks(err) {
		return nil, fmt.Errorf("cannot write the add-on store %s: its file system has no locks, and two writers would spoil it; set HERMES_LAZY_INSTALL_TARGET to a directory on another one: %w", s.target, err)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write the add-on store: %w", s.explain(err))
	}
	w := &Writer{Store: s, held: held, adopted: make(map[string]map[string]manifest.File)}
	err = s.makeDirs(s.own(), s.generations(), s.staging())
	if err == nil {
		w.mark, err = os.Lstat(s.lock())
	}
	if err != nil {
		held.Release(false)
		return nil, fmt.Errorf("cannot write the add-on store: %w", s.explain(err))
	}
	w.sweep()
	return w, nil
}

// makeDirs makes directories that are missing, and checks those that are there.
func (s *Store) makeDirs(dirs ...string) error {
	for _, dir := range dirs {
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = trusted(dir)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Close removes what was not published, and lets the next one write.
func (w *Writer) Close() {
	if w.valid() == nil { // else what is there now is another's
		w.sweep()
	}
	w.held.Release(false)
}

// valid says that the store is still the one that was locked.
func (w *Writer) valid() error {
	now, err := os.Lstat(w.lock())
	if err != nil || !os.SameFile(now, w.mark) {
		return fmt.Errorf("%s was removed or replaced meanwhile; try again", w.target)
	}
	return nil
}

// sweep removes what is not complete. Nobody else writes, so it belongs to nobody. What cannot be removed is in
// nobody's way.
func (w *Writer) sweep() {
	for _, file := range []string{w.stamp(), w.desired(), w.failures()} {
		w.warn(atomicfile.Sweep(file))
	}
	for _, abi := range w.abis() {
		w.warn(atomicfile.Sweep(abi.history()))
		staged, err := os.ReadDir(abi.staging())
		if !errors.Is(err, fs.ErrNotExist) {
			w.warn(err)
		}
		for _, e := range staged {
			w.warn(removeTree(filepath.Join(abi.staging(), e.Name())))
		}
	}
}

// abis are the stores of all ABIs in this target that only we can have written.
func (w *Writer) abis() []*Store {
	entries, err := os.ReadDir(w.private())
	w.warn(err)
	var all []*Store
	for _, e := range entries {
		if !tagForm.MatchString(e.Name()) {
			continue
		}
		abi := &Store{target: w.target, abi: w.abi, tag: e.Name(), o: w.o}
		if err := trusted(abi.own()); err != nil {
			w.warn(err)
			continue
		}
		all = append(all, abi)
	}
	return all
}

func (w *Writer) warn(err error) {
	if err != nil {
		w.o.Warn(fmt.Errorf("cannot clean up the add-on store: %w", err))
	}
}

// Staged is a place for what is going to be a generation: a directory with an empty site-packages in it.
type Staged struct{ Dir string }

// SitePackages is where to install.
func (s Staged) SitePackages() string { return filepath.Join(s.Dir, sitePackages) }

// Node is where the packages of npm of a feature are to be. Nobody has made it yet.
func (s Staged) Node(feature string) string {
	return filepath.Join(s.Dir, manifest.NodeModules(feature))
}

// Stage makes a place that nobody uses until it is published.
func (w *Writer) Stage() (Staged, error) {
	dir, err := os.MkdirTemp(w.staging(), "")
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, sitePackages), 0o755)
	}
	if err != nil {
		return Staged{}, fmt.Errorf("cannot stage an installation: %w", w.explain(err))
	}
	return Staged{dir}, nil
}
