//go:build linux

package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rmtree"
)

// GC removes every layer that neither a name nor a living fetch needs, and what dead fetches left behind. It
// returns how many layers went. Layers that are mounted but have no name go too: a sandbox keeps one by Tag.
func (s *Store) GC(ctx context.Context) (int, error) {
	doomed, layers, err := s.condemn(ctx)
	// The long work is done without the lock, on names that nobody uses, except for another GC.
	for _, dir := range doomed {
		if rmErr := s.RemoveTree(ctx, dir); !errors.Is(rmErr, fs.ErrNotExist) {
			err = errors.Join(err, rmErr)
		}
	}
	return layers, err
}

// condemn decides what is garbage and takes it out of sight.
func (s *Store) condemn(ctx context.Context) (doomed []string, layers int, err error) {
	lock, err := s.lock(ctx, "store")
	if err != nil {
		return nil, 0, err
	}
	defer lock.Release(true)
	needed, err := s.needed()
	if err != nil {
		return nil, 0, err
	}
	if doomed, err = s.halfNames(); err != nil {
		return nil, 0, err
	}
	entries, err := os.ReadDir(filepath.Join(s.dir, "layers"))
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		path := filepath.Join(s.dir, "layers", e.Name())
		hex, _, _ := strings.Cut(e.Name(), "-")
		switch {
		case strings.HasSuffix(path, gone):
			doomed = append(doomed, path)
		case strings.HasSuffix(path, part):
			path, err := s.condemnPart(path)
			if err != nil {
				return doomed, layers, err
			}
			if path != "" {
				doomed = append(doomed, path)
			}
		case !needed["sha256:"+hex]:
			if path, err = hide(path); err != nil {
				return doomed, layers, err
			}
			doomed, layers = append(doomed, path), layers+1
		}
	}
	return doomed, layers, nil
}

// halfNames are files that were being written when their writer died: names are only written under the lock.
func (s *Store) halfNames() ([]string, error) {
	dir := filepath.Join(s.dir, "names")
	entries, err := os.ReadDir(dir)
	var halves []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			halves = append(halves, filepath.Join(dir, e.Name()))
		}
	}
	return halves, err
}

// condemnPart hides half a layer, unless somebody is at work on it or has just finished it.
func (s *Store) condemnPart(path string) (string, error) {
	lock, err := s.tryLock(strings.TrimSuffix(filepath.Base(path), part))
	if lock == nil || err != nil {
		return "", err
	}
	defer lock.Release(true)
	hidden, err := hide(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return hidden, err
}

// hide renames a directory to one that nobody looks for; an earlier one may still be on its way out.
func hide(path string) (string, error) {
	hidden := fmt.Sprintf("%s.%08x%s", path, rand.Uint32(), gone)
	return hidden, os.Rename(path, hidden)
}

// needed collects the layers of all names and of all living fetches. Whatever cannot be read stops the
// collection: what it needs is not known.
func (s *Store) needed() (map[string]bool, error) {
	images, err := s.List()
	if err != nil {
		return nil, err
	}
	pulls, err := os.ReadDir(filepath.Join(s.dir, "pulls"))
	if err != nil {
		return nil, err
	}
	for _, p := range pulls {
		dir := filepath.Join(s.dir, "pulls", p.Name())
		lock, err := s.tryLock("pull " + p.Name())
		if err != nil {
			return nil, err
		}
		if lock != nil {
			err := removeTree(dir)
			lock.Release(true)
			if err != nil {
				return nil, err
			}
			continue
		}
		img, err := readImage(filepath.Join(dir, "image.json"))
		if errors.Is(err, os.ErrNotExist) {
			continue // it will announce itself, and then fetch what is missing
		}
		if err != nil {
			return nil, err
		}
		images = append(images, img)
	}
	layers := map[string]bool{}
	for _, img := range images {
		for _, l := range img.Layers {
			layers[l] = true
		}
	}
	return layers, nil
}

// removeTree removes a tree of ours, even where an ordinary user unpacked directories that it may not change.
func removeTree(dir string) error {
	err := rmtree.Remove(dir)
	if !errors.Is(err, unix.EACCES) {
		return err
	}
	walkErr := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o700) // comes before the directory is read
	})
	return errors.Join(walkErr, rmtree.Remove(dir))
}
