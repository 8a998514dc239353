package backend

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/sandbox"
)

// Options of a Pool. Zero values mean the defaults.
type Options struct {
	Addons    *addon.Manager
	Sandboxes *sandbox.Manager
	Home      string
	// Idle is how long a process stays that nobody calls.
	Idle time.Duration
	// Most is how many processes take calls at the same time.
	Most   int
	Bounds Bounds
	Log    *slog.Logger
	Now    func() time.Time
}

// Pool has the backends that run. The first call of a feature installs it and starts its process, which stays warm for
// the next ones; calls with other credentials, or after an installation, have a process of their own. It is safe for
// concurrent use. Close it when done.
type Pool struct {
	o    Options
	life context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	slots    map[key]*slot          // that take calls
	running  map[*slot]struct{}     // and those that do not any more
	failures map[key]*failureRecord // of the last minutes
}

// NewPool returns a pool in which nothing runs.
func NewPool(o Options) *Pool {
	o.Idle, o.Most = cmp.Or(o.Idle, 10*time.Minute), cmp.Or(o.Most, 16)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Pool{o: o, slots: make(map[key]*slot), running: make(map[*slot]struct{}), failures: make(map[key]*failureRecord)}
	p.life, p.stop = context.WithCancel(context.Background())
	return p
}

// Call calls a tool of a feature. Of the variables the process is given those that the feature declares. The error is an
// *unavailable.Error, unless ctx ended or there is no such tool.
func (p *Pool) Call(ctx context.Context, name, tool string, args json.RawMessage, vars map[string]string) (Result, error) {
	s, err := p.take(ctx, name, vars)
	if err != nil {
		return Result{}, err
	}
	result, err := s.backend.Call(ctx, tool, args)
	p.judge(s, err != nil && ctx.Err() != nil)
	p.give(s, err)
	return result, err
}

// Tools are those of a feature.
func (p *Pool) Tools(ctx context.Context, name string, vars map[string]string) ([]Tool, error) {
	s, err := p.take(ctx, name, vars)
	if err != nil {
		return nil, err
	}
	defer p.give(s, nil)
	return s.backend.Tools(), nil
}

// Close ends all backends, whoever waits for them, and returns when nothing of them is left.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for s := range p.running {
		p.retire(s)
		s.dismiss()
	}
	p.mu.Unlock()
	p.stop()
	p.work.Wait()
}

// looks is how often a feature is looked for that is installed anew meanwhile.
const looks = 3

// take finds the process for a call and keeps it from being stopped, until give.
func (p *Pool) take(ctx context.Context, name string, vars map[string]string) (*slot, error) {
	f, err := p.o.Addons.Feature(name)
	if err != nil {
		return nil, err
	}
	if f.Entry == "" {
		return nil, unavailable.Because(unavailable.Backend, errors.New("it has no tools: it is a library that others use"), "").For(name, nil)
	}
	given := f.Given(func(name string) string { return vars[name] })
	for look := 1; ; look++ {
		ensured, err := p.o.Addons.Ensure(ctx, name)
		if err != nil {
			return nil, err
		}
		s, err := p.enter(f, ensured, given)
		if err != nil {
			return nil, err
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			p.give(s, ctx.Err())
			return nil, ctx.Err()
		}
		if s.err == nil {
			return s, nil
		}
		p.give(s, s.err)
		if !errors.Is(s.err, addon.ErrMoved) {
			return nil, s.err
		}
		if look == looks {
			return nil, p.refuse(f, s.err.Error()+"; try again")
		}
	}
}

// enter adds a call to the slot that is for it, which it makes if there is none.
func (p *Pool) enter(f feature.Feature, e addon.Ensured, given map[string]string) (*slot, error) {
	k := keyOf(f.Name, e.Generation, given)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, p.refuse(f, "backends are being stopped")
	}
	s := p.slots[k]
	if s != nil && s.ended() {
		p.bury(s)
		s = nil
	}
	if s == nil {
		if err := p.room(f, k); err != nil {
			return nil, err
		}
		s = newSlot(k, p.o.Now())
		p.slots[k], p.running[s] = s, struct{}{}
		p.work.Go(func() { p.run(s, f, e, given) })
	}
	s.enter()
	return s, nil
}

// room says whether one more process may be started, and stops one that nobody uses where it has to.
func (p *Pool) room(f feature.Feature, k key) error {
	if failed := p.failures[k]; failed != nil {
		if left := failed.until.Sub(p.o.Now()); left > 0 {
			return p.refuse(f, fmt.Sprintf("%s (it is tried again in %s)", failed.reason, max(left, time.Second).Round(time.Second)))
		}
	}
	if len(p.slots) < p.o.Most {
		return nil
	}
	var oldest *slot
	for _, s := range p.slots {
		if s.calls == 0 && (oldest == nil || s.used.Before(oldest.used)) {
			oldest = s
		}
	}
	if oldest == nil {
		return p.refuse(f, fmt.Sprintf("%d backends are at work already; try again when one is done", len(p.slots)))
	}
	p.retire(oldest)
	return nil
}

func (p *Pool) refuse(f feature.Feature, why string) error {
	return unavailable.BackendFailed(why, "", nil).For(f.Name, nil)
}

// mostAbandoned is how many callers in a row may give up before their process counts as one that hangs. They may be less
// patient than the bound of a call.
const mostAbandoned = 3

// judge notes whether a call's caller gave up.
func (p *Pool) judge(s *slot, gaveUp bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !gaveUp {
		s.abandoned = 0
		return
	}
	if s.abandoned++; s.abandoned == mostAbandoned {
		p.o.Log.Warn("a backend is replaced", "feature", s.key.feature, "why", fmt.Sprintf("%d callers in a row gave up", mostAbandoned))
		p.retire(s)
	}
}

// give ends a call, with its error. A process that did not answer one takes no others, and ends when those that it has
// are done.
func (p *Pool) give(s *slot, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.calls, s.used = s.calls-1, p.o.Now()
	switch {
	case errors.Is(err, ErrHangs):
		if !s.retired {
			p.failed(s.key, err)
		}
		p.retire(s)
	case err == nil:
		delete(p.failures, s.key)
	}
	if s.calls > 0 {
		return
	}
	if s.retired {
		s.dismiss()
		return
	}
	entered := s.entered
	s.idle = time.AfterFunc(p.o.Idle, func() { p.idle(s, entered) })
}

// idle stops a process that nobody has called since.
func (p *Pool) idle(s *slot, entered int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.entered == entered {
		p.retire(s)
	}
}

// retire takes a slot out of use. It ends when its calls are done.
func (p *Pool) retire(s *slot) {
	if s.retired = true; p.slots[s.key] == s {
		delete(p.slots, s.key)
	}
	if s.idle != nil {
		s.idle.Stop()
	}
	if s.calls == 0 {
		s.dismiss()
	}
}
