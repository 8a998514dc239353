package store

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Listed is a generation and what there is to say about it.
type Listed struct {
	Generation
	Features []string
	// Current is the one in use, Previous the one that Rollback leads to.
	Current, Previous bool
	// Published is the last time that it became current by being published, if that is remembered.
	Published time.Time
}

// List are the generations of this ABI, in the order of their digests.
func (s *Store) List() ([]Listed, error) {
	all, err := s.all()
	if err != nil {
		return nil, fmt.Errorf("cannot list the generations: %w", err)
	}
	history, at, err := s.readPast()
	if err != nil {
		return nil, err
	}
	published := make(map[string]time.Time)
	for _, m := range history {
		published[m.Digest] = m.At
	}
	before := earlier(history, at)
	list := make([]Listed, 0, len(all))
	for _, g := range all {
		l := Listed{Generation: g, Published: published[g.Digest], Current: s.isCurrent(g),
			Previous: before >= 0 && history[before].Digest == g.Digest}
		if l.Features, err = featuresOf(g); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot list the generations: %w", err)
		}
		list = append(list, l)
	}
	return list, nil
}
