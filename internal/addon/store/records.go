package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"hermes.example/hermes/internal/atomicfile"
)

// load reads a file of ours; one that is not there is empty.
func load(path string, into any) error {
	text, err := atomicfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("cannot read %s: %w; remove it", path, err)
	}
	return nil
}

func (w *Writer) save(path string, from any) error {
	if err := w.valid(); err != nil {
		return err
	}
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return w.explain(atomicfile.WriteAlone(path, append(text, '\n'), 0o644))
}

// prepare is save without waiting for the disk, and without effect until it is committed.
func prepare(path string, from any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return atomicfile.Prepare(path, append(text, '\n'), 0o644)
}

// wanted is desired.json.
type wanted struct {
	Version  int      `json:"version"`
	Features []string `json:"features"` // sorted
}

// Desired are the features that are wanted, whether or not this ABI has them.
func (s *Store) Desired() ([]string, error) {
	var d wanted
	err := load(s.desired(), &d)
	return d.Features, err
}

// SetDesired says what is wanted from now on.
func (w *Writer) SetDesired(features []string) error {
	features = slices.Clone(features)
	slices.Sort(features)
	features = slices.Compact(features)
	if before, err := w.Desired(); err == nil && slices.Equal(before, features) {
		return nil
	}
	return w.save(w.desired(), wanted{1, features})
}

// Want adds to what is wanted.
func (w *Writer) Want(feature string) error {
	before, err := w.Desired()
	if err != nil {
		return err
	}
	return w.SetDesired(append(before, feature))
}

// StillWanted names features that what is published next could not get, and that are wanted all the same.
func (w *Writer) StillWanted(features ...string) { w.stay = features }

// wantedWith is what is wanted now, and what will be when a generation with these features is current: what it has, and
// not what only the present one has. What neither has, because it cannot be had for this ABI, stays as it was.
func (w *Writer) wantedWith(next []string) (before, after []string, err error) {
	if before, err = w.Desired(); err != nil {
		return nil, nil, err
	}
	var now []string
	if g, err := w.look(); err == nil {
		if now, err = featuresOf(g); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
	}
	after = slices.DeleteFunc(slices.Clone(before), func(name string) bool {
		return slices.Contains(now, name) && !slices.Contains(w.stay, name)
	})
	after = append(after, next...)
	slices.Sort(after)
	return before, slices.Compact(after), nil
}
