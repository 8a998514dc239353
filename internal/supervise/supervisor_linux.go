package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"hermes.example/hermes/internal/asuser"
	"hermes.example/hermes/internal/supervise/reaper"
	"hermes.example/hermes/internal/supervise/tree"
)

// Options are what a supervisor works with.
type Options struct {
	// Reaper waits for the processes. It is shared with whatever else is started.
	Reaper *reaper.Reaper
	// Output gets what services say as it is, whole lines at a time: the container's own output.
	Output io.Writer
	// Hand writes the logs; nil writes them as the supervisor itself.
	Hand *asuser.Hand
	// Volume is the data volume: no link below it is followed on the way to a log.
	Volume string
	// Root lets services run as root: the operator said so.
	Root bool
	// Jitter is a number from 0 to 1 for the pauses before a restart; nil draws one.
	Jitter func() float64
	// Log is told of every change of a state; nil tells nobody. Nothing waits for it.
	Log *slog.Logger
}

// Supervisor keeps services. Its life: New, any number of calls from any goroutine, Shutdown. It is a roster.Driver.
//
// Register, Replace, Start, Stop and Restart say what is wanted and return at once; Wait tells what came of it.
//
// Locking rule: mu is taken under a unit's lock, never the other way round.
type Supervisor struct {
	options Options
	journal *journal
	jitter  func() float64
	launch  func(*Service) (*process, error)
	forest  *tree.Forest
	spoken  sync.Mutex     // one writer of the output at a time
	alive   sync.WaitGroup // goroutines of processes and probes
	line    lifeline
	context context.Context
	cancel  context.CancelFunc

	mu     sync.Mutex
	closed bool
	units  map[string]*unit
}

// New makes a supervisor without services.
func New(o Options) *Supervisor {
	s := &Supervisor{options: o, jitter: o.Jitter, forest: tree.NewForest(), units: make(map[string]*unit)}
	s.launch = s.spawn
	closeOnExec()
	s.context, s.cancel = context.WithCancel(context.Background())
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s.journal = newJournal(log)
	if s.jitter == nil {
		s.jitter = rand.Float64
	}
	return s
}

// Register makes a service known, and starts it if up: ErrRegistered if it is known already.
func (s *Supervisor) Register(_ context.Context, service Service, up bool) error {
	u, err := s.add(&service)
	if err != nil {
		return err
	}
	if up {
		u.on(u.start)
	}
	return nil
}

// mostServices bounds the memory and the descriptors of PID 1: whoever can make a profile can make a million.
const mostServices = 4096

func (s *Supervisor) add(service *Service) (*unit, error) {
	if err := s.check(service); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, fmt.Errorf("cannot register service %q: %w", service.Name, ErrClosed)
	case s.units[service.Name] != nil:
		return nil, fmt.Errorf("cannot register service %q: %w", service.Name, ErrRegistered)
	case len(s.units) >= mostServices:
		return nil, fmt.Errorf("cannot register service %q: there are %d already; remove some", service.Name, len(s.units))
	}
	u := newUnit(s, service)
	s.units[service.Name] = u
	return u, nil
}

// Replace does what Register does, whether it is known or not. What runs as it was before is ended.
func (s *Supervisor) Replace(ctx context.Context, service Service, up bool) error {
	if err := s.check(&service); err != nil {
		return err
	}
	for {
		u, err := s.find(service.Name)
		if err != nil {
			u, err = s.add(&service)
		}
		if errors.Is(err, ErrRegistered) {
			continue // by somebody else, since we looked
		}
		if err != nil {
			return err
		}
		if u.replace(&service, up) {
			return nil
		}
		select {
		case <-u.gone:
		case <-ctx.Done():
			return fmt.Errorf("cannot replace service %q, which is being ended: %w", service.Name, ctx.Err())
		}
	}
}

// replace fails for a unit that is being forgotten.
func (u *unit) replace(service *Service, up bool) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.leaving {
		return false
	}
	u.service = service
	if up {
		u.restart()
	} else {
		u.stop()
	}
	return true
}

// Unregister ends a service and forgets it, and returns when nothing of it runs any more. One that is not known is
// none to end.
func (s *Supervisor) Unregister(ctx context.Context, name string) error {
	u, err := s.find(name)
	if err != nil {
		return nil
	}
	u.on(u.leave)
	// Its grace, the kill, and what is left to read.
	timer := time.NewTimer(u.grace() + 4*blocked)
	defer timer.Stop()
	select {
	case <-u.gone:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = context.DeadlineExceeded
	}
	return fmt.Errorf("cannot end service %q yet: %w; it is forgotten as soon as it has ended", name, err)
}

// Start wants a service up. Nothing happens to one that runs; one that is parked or waits is started at once.
func (s *Supervisor) Start(_ context.Context, name string) error {
	return s.change("start", name, (*unit).start)
}

// Stop wants a service down.
func (s *Supervisor) Stop(_ context.Context, name string) error {
	return s.change("stop", name, (*unit).stop)
}

// Restart ends what runs and wants the service up.
func (s *Supervisor) Restart(_ context.Context, name string) error {
	return s.change("restart", name, (*unit).restart)
}

func (s *Supervisor) change(what, name string, event func(*unit)) error {
	u, err := s.find(name)
	if err != nil {
		return fmt.Errorf("cannot %s service %q: %w", what, name, err)
	}
	u.on(func() {
		if u.leaving {
			err = fmt.Errorf("cannot %s service %q: %w", what, name, s.missing())
			return
		}
		event(u)
	})
	return err
}

func (s *Supervisor) find(name string) (*unit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.units[name]; u != nil {
		return u, nil
	}
	return nil, ErrNotRegistered
}

// missing is why a unit that is on its way out cannot be used.
func (s *Supervisor) missing() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	return ErrNotRegistered
}

func (s *Supervisor) forget(u *unit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.units, u.service.Name)
}

// Status is what is known of a service.
func (s *Supervisor) Status(_ context.Context, name string) (st Status, err error) {
	u, err := s.find(name)
	if err != nil {
		return st, fmt.Errorf("cannot look at service %q: %w", name, err)
	}
	u.on(func() { st = u.status() })
	return st, nil
}

// List is what is known of all, by name.
func (s *Supervisor) List(context.Context) ([]Status, error) {
	all := make([]Status, 0)
	for _, u := range s.all() {
		u.on(func() { all = append(all, u.status()) })
	}
	slices.SortFunc(all, func(a, b Status) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

func (s *Supervisor) all() []*unit {
	s.mu.Lock()
	defer s.mu.Unlock()
	units := make([]*unit, 0, len(s.units))
	for _, u := range s.units {
		units = append(units, u)
	}
	return units
}

// Wait returns as soon as the service's status is as asked, with ErrNotRegistered once it is forgotten.
func (s *Supervisor) Wait(ctx context.Context, name string, is func(Status) bool) (Status, error) {
	u, err := s.find(name)
	if err != nil {
		return Status{}, fmt.Errorf("cannot wait for service %q: %w", name, err)
	}
	for {
		var st Status
		var changed chan struct{}
		u.on(func() { st, changed = u.status(), u.changed })
		if is(st) {
			return st, nil
		}
		select {
		case <-changed:
		case <-u.gone:
			return st, fmt.Errorf("cannot wait for service %q: %w", name, ErrNotRegistered)
		case <-ctx.Done():
			return st, fmt.Errorf("cannot wait for service %q any longer, it is %s: %w", name, st.State, ctx.Err())
		}
	}
}

// Survivor is what could not be ended.
type Survivor struct {
	Service string
	State   State
	Reason  string
}

// afterKill is how long a shutdown waits for what was killed: a machine that goes down has no more time.
const afterKill = blocked + time.Second

// Shutdown ends all services at the same time, whole trees, and forgets them; every later call finds none. Each has
// its own grace; whatever runs when ctx ends is killed. It returns what survived even that.
func (s *Supervisor) Shutdown(ctx context.Context) []Survivor {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	units := s.all()
	for _, u := range units {
		u.on(u.leave)
	}
	if !gone(ctx, units) {
		for _, u := range units {
			u.on(u.hurry)
		}
		bounded, cancel := context.WithTimeout(context.Background(), afterKill)
		defer cancel()
		gone(bounded, units)
	}
	s.cancel()
	var left []Survivor
	for _, u := range s.all() {
		u.on(func() { left = append(left, Survivor{u.service.Name, u.state, u.reason}) })
	}
	if left == nil {
		s.alive.Wait()
		s.forest.Close()
		s.line.close()
	}
	s.journal.close()
	return left
}

// gone waits for the end of all, or of ctx.
func gone(ctx context.Context, units []*unit) bool {
	for _, u := range units {
		select {
		case <-u.gone:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
