package backend

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/unavailable"
)

// key is what a process can be shared by: the same feature of the same generation with the same variables.
type key struct {
	feature, generation string
	given               [sha256.Size]byte
}

func keyOf(feature, generation string, given map[string]string) key {
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		fmt.Fprintf(hash, "%q=%q\n", name, given[name])
	}
	k := key{feature: feature, generation: generation}
	hash.Sum(k.given[:0])
	return k
}

// slot is the place of one process. It is made by the first call, its process is started by Pool.run, and taken by
// callers when ready is closed. Once retired it takes no more calls; dismissed, its process is ended.
type slot struct {
	key   key
	began time.Time
	ready chan struct{} // closed when either of these is set
	// backend and err do not change after that.
	backend *Backend
	err     error
	leave   chan struct{} // closed when its process shall end

	// The pool's lock is for these.
	calls     int
	entered   int // calls, ever
	used      time.Time
	idle      *time.Timer // runs while there are no calls
	retired   bool
	buried    bool
	dismissed bool
}

func newSlot(k key, now time.Time) *slot {
	return &slot{key: k, began: now, used: now, ready: make(chan struct{}), leave: make(chan struct{})}
}

func (s *slot) enter() {
	s.calls++
	s.entered++
	if s.idle != nil {
		s.idle.Stop()
	}
}

// dismiss ends its process, now.
func (s *slot) dismiss() {
	if !s.dismissed {
		s.dismissed = true
		close(s.leave)
	}
}

// ended says whether its process is of no more use.
func (s *slot) ended() bool {
	select {
	case <-s.ready:
	default:
		return false
	}
	if s.err != nil {
		return true
	}
	_, ended := s.backend.Ended()
	return ended
}

// run is the life of a slot's process.
func (p *Pool) run(s *slot, f feature.Feature, e addon.Ensured, given map[string]string) {
	held, err := p.o.Addons.Hold(p.life, e)
	if err == nil {
		defer held.Close()
		p.supersede(s)
		s.backend, err = p.start(f, held, given)
	}
	s.err = p.about(f, err)
	close(s.ready)
	if s.err == nil {
		p.o.Log.Info("started a backend", "feature", f.Name, "generation", e.Generation, "seconds", p.o.Now().Sub(s.began).Seconds())
		select {
		case <-s.backend.line.ended:
		case <-s.leave:
		}
	}
	p.mu.Lock()
	p.bury(s)
	p.mu.Unlock()
	if s.err == nil {
		if err := s.backend.Close(); err != nil {
			p.o.Log.Warn("cannot remove all of a backend", "feature", f.Name, "why", err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, s)
}

// supersede retires the processes of the same feature that have another generation: this one is now.
func (p *Pool) supersede(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, other := range p.slots {
		if other.key.feature == s.key.feature && other.key.generation != s.key.generation {
			p.retire(other)
		}
	}
}

// bury retires a slot and notes, once, why its process ended, if it did so by itself.
func (p *Pool) bury(s *slot) {
	if s.ended() && !s.buried && !p.closed {
		p.note(s)
	}
	s.buried = true
	p.retire(s)
}

func (p *Pool) note(s *slot) {
	why := s.err
	if why == nil {
		why = s.backend.failure()
	}
	if errors.Is(why, addon.ErrMoved) {
		return
	}
	p.o.Log.Warn("a backend ended", "feature", s.key.feature, "why", why)
	p.failed(s.key, why)
}

func (p *Pool) start(f feature.Feature, held *addon.Held, given map[string]string) (*Backend, error) {
	l, err := p.launch(f, held, given)
	if err != nil {
		return nil, err
	}
	return Start(p.life, p.o.Sandboxes, p.o.Home, l)
}

// about makes an error one about the feature.
func (p *Pool) about(f feature.Feature, err error) error {
	var known *unavailable.Error
	switch {
	case err == nil, errors.Is(err, addon.ErrMoved):
		return err
	case p.life.Err() != nil:
		return p.refuse(f, "backends are being stopped")
	case errors.As(err, &known):
		return known.For(f.Name, known.Missing)
	}
	return unavailable.Because(unavailable.Backend, err, "").For(f.Name, nil)
}
