package store

import (
	"os"
	"path/filepath"

	"hermes.example/hermes/internal/atomicfile"
)

// lead makes a generation the current one, of which everything is on the disk.
func (w *Writer) lead(g Generation) error {
	if err := w.valid(); err != nil {
		return err
	}
	if !w.isCurrent(g) {
		if err := w.swap(g); err != nil {
			return err
		}
	}
	if abi, err := w.ActiveABI(); err == nil && abi == w.abi {
		return nil
	}
	return atomicfile.WriteAlone(w.stamp(), []byte(w.abi+"\n"), 0o644)
}

// swap leads the link to another generation, for all processes at once.
func (w *Writer) swap(g Generation) error {
	next := filepath.Join(w.staging(), "current")
	if err := os.Symlink(link+g.Digest, next); err != nil {
		return err
	}
	if err := os.Rename(next, w.current()); err != nil {
		return err
	}
	return atomicfile.SyncDir(w.own())
}

// featuresOf are the names of a generation's features, without its manifest.
func featuresOf(g Generation) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(g.Dir, featuresDir))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}
