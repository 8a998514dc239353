package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// past is history.json: what current has led to, the newest last. Behind the current one may stand what was rolled
// back, or what never became current because its writer was killed; it means nothing.
type past struct {
	Version     int     `json:"version"`
	Generations []moved `json:"generations"`
}

type moved struct {
	Digest string    `json:"digest"`
	At     time.Time `json:"at"`
	// InPlaceOf is the generation before it, if it is that one in another form.
	InPlaceOf string `json:"in_place_of,omitempty"`
}

// remembered is how many generations the history has at most.
const remembered = 100

// readPast reads the history, and finds where in it the current generation is: behind its end if it is not there.
func (s *Store) readPast() (all []moved, at int, err error) {
	var p past
	if err := load(s.history(), &p); err != nil {
		return nil, 0, err
	}
	all = p.Generations
	to, err := os.Readlink(s.current())
	for at = len(all) - 1; at >= 0 && err == nil; at-- {
		if to == link+all[at].Digest {
			return all, at, nil
		}
	}
	return all, len(all), nil
}

// isCurrent says where the link leads, whether or not that is there.
func (s *Store) isCurrent(g Generation) bool {
	to, err := os.Readlink(s.current())
	return err == nil && to == link+g.Digest
}

// earlier is where in the history the generation before another one is: below zero, if there is none. What a generation
// took the place of is not before it.
func earlier(all []moved, at int) int {
	before := at - 1
	for before >= 0 && before+1 < len(all) && all[before+1].InPlaceOf == all[before].Digest {
		before--
	}
	return before
}

// pastWith is the history with a generation that follows the current one, or takes the place of it.
func (w *Writer) pastWith(g Generation, inPlaceOf string) (past, error) {
	all, at, err := w.readPast()
	all = append(all[:min(at+1, len(all))], moved{g.Digest, w.o.Now().UTC(), inPlaceOf})
	return past{1, all[max(0, len(all)-remembered):]}, err
}

// ErrNoEarlier says that there is nothing to go back to.
var ErrNoEarlier = errors.New("no earlier generation is there")

// Rollback makes the generation before the current one current again, provided that it is whole. The features that are
// wanted follow.
func (w *Writer) Rollback(ctx context.Context) (Generation, error) {
	g, err := w.rollback(ctx)
	if err != nil {
		return Generation{}, fmt.Errorf("cannot roll back: %w", w.explain(err))
	}
	return g, nil
}

func (w *Writer) rollback(ctx context.Context) (Generation, error) {
	all, at, err := w.readPast()
	if err != nil {
		return Generation{}, err
	}
	before := earlier(all, at)
	if before < 0 {
		return Generation{}, ErrNoEarlier
	}
	g := w.generation(all[before].Digest)
	problems, err := verify(ctx, g)
	if err != nil {
		return Generation{}, err
	}
	if len(problems) > 0 {
		return Generation{}, fmt.Errorf("generation %.12s is not whole: %v", g.Digest, problems[0])
	}
	features, err := featuresOf(g)
	if err != nil {
		return Generation{}, err
	}
	// If it stood behind the current one, too, it would be taken for that one.
	if at+1 < len(all) {
		if err := w.save(w.history(), past{1, all[:at+1]}); err != nil {
			return Generation{}, err
		}
	}
	_, after, err := w.wantedWith(features)
	if err == nil {
		err = w.SetDesired(after)
	}
	if err == nil {
		err = w.lead(g)
	}
	return g, err
}
