package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"hermes.example/hermes/internal/addon/manifest"
)

// Collect says what to collect.
type Collect struct {
	// Keep is how many generations before the current one stay; one is what Rollback needs.
	Keep int
	// OtherABIs collects those of other interpreters, too, except of the one that was published last.
	OtherABIs bool
}

// Collected is what became of what nobody needs.
type Collected struct {
	Removed []string // digests, and the tags of other ABIs
	Stayed  []Stayed
}

// Stayed is what was not removed, and why.
type Stayed struct{ Name, Why string }

// GC removes generations that nobody needs: neither the current one, nor those before it that are to be kept, nor any
// that a process uses. What cannot be removed stays whole.
func (w *Writer) GC(ctx context.Context, c Collect) (Collected, error) {
	var done Collected
	needed, err := w.needed(c.Keep)
	if err != nil {
		return done, fmt.Errorf("cannot collect old generations: %w", err)
	}
	all, err := w.all()
	if err != nil {
		return done, fmt.Errorf("cannot collect old generations: %w", err)
	}
	for _, g := range all {
		if !needed(g) && ctx.Err() == nil {
			done.add(g.Digest, w.collect(g.Dir, g))
		}
	}
	if c.OtherABIs {
		w.otherABIs(ctx, &done)
	}
	return done, ctx.Err()
}

func (c *Collected) add(name string, err error) {
	if err == nil {
		c.Removed = append(c.Removed, name)
	} else {
		c.Stayed = append(c.Stayed, Stayed{name, err.Error()})
	}
}

// needed are the generations that stay in any case.
func (w *Writer) needed(keep int) (func(Generation) bool, error) {
	all, at, err := w.readPast()
	var older []string
	for at = earlier(all, at); at >= 0 && len(older) < keep; at = earlier(all, at) {
		older = append(older, all[at].Digest)
	}
	return func(g Generation) bool { return w.isCurrent(g) || slices.Contains(older, g.Digest) }, err
}

// all are the generations of this ABI.
func (s *Store) all() ([]Generation, error) {
	entries, err := os.ReadDir(s.generations())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []Generation
	for _, e := range entries {
		if manifest.IsDigest(e.Name()) {
			all = append(all, s.generation(e.Name()))
		}
	}
	return all, nil
}

// Manifests are those of all generations that there are, of every ABI. What one of them was made of may be needed to
// make it again; a generation that cannot be read needs nothing.
func (w *Writer) Manifests() (all []manifest.Manifest) {
	for _, abi := range w.abis() {
		generations, err := abi.all()
		w.warn(err)
		for _, g := range generations {
			m, err := g.Manifest()
			w.warn(err)
			all = append(all, m)
		}
	}
	return all
}

func (w *Writer) otherABIs(ctx context.Context, done *Collected) {
	active, err := w.ActiveABI()
	for _, abi := range w.abis() {
		switch {
		case abi.tag == w.tag || ctx.Err() != nil:
		case err != nil:
			done.add(abi.tag, err)
		case isOf(active, abi.tag):
			done.add(abi.tag, errors.New("it is the active ABI"))
		default:
			all, err := abi.all()
			if err == nil {
				err = w.collect(abi.own(), all...)
			}
			done.add(abi.tag, err)
		}
	}
}

// collect takes a directory away with the generations in it, if nobody uses one of them. The locks are held until all
// is gone: whoever gets one then sees that there is nothing any more.
func (w *Writer) collect(dir string, in ...Generation) error {
	for _, g := range in {
		f, err := flock(filepath.Join(g.Dir, lockFile), true)
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was half gone before: nobody can use it
		case err != nil:
			return err
		default:
			defer f.Close()
		}
	}
	away, err := w.depart(dir)
	if err != nil {
		return err
	}
	w.warn(removeTree(away))
	return nil
}
