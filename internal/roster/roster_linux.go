package roster

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"sync"
	"time"

	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/supervise"
)

// Options are what a roster works with.
type Options struct {
	Home   *profile.Home
	Driver Driver
	// Gateway is the service that runs a profile's gateway; its name is the roster's to give.
	Gateway func(profile string) supervise.Service
	// Log gets what went wrong without being anybody's error; nil keeps it to itself.
	Log *slog.Logger
	// Poll is how often Watch looks where nothing tells it to; zero means every ten seconds.
	Poll time.Duration
}

// Roster keeps the gateways of a home. Its life: New, Reconcile once at boot, Watch for as long as the machine runs,
// and any number of operations meanwhile, from any goroutine. The command line on s6 uses only the operations.
//
// It is a control.Operations: a service of another name than a gateway's is the driver's alone.
type Roster struct {
	home    *profile.Home
	driver  Driver
	gateway func(profile string) supervise.Service
	log     *slog.Logger
	poll    time.Duration

	seed  maphash.Seed
	locks [64]sync.Mutex // of profiles, by their hash: what is asked and what is written down of one agree

	mu        sync.Mutex
	multiplex bool // one gateway speaks for all profiles: named ones are not started
	idle      bool // this machine has no gateways at all
}

// New makes the roster of a home.
func New(o Options) *Roster {
	r := &Roster{home: o.Home, driver: o.Driver, gateway: o.Gateway, log: o.Log, poll: o.Poll, seed: maphash.MakeSeed()}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.poll == 0 {
		r.poll = 10 * time.Second
	}
	return r
}

// NoGatewayError is the error of naming a gateway that is not there. It is a supervise.ErrNotRegistered.
type NoGatewayError struct{ Profile string }

func (e *NoGatewayError) Error() string {
	if e.Profile == profile.Default {
		return fmt.Sprintf("no such gateway '%s'; start it with \"hermes gateway start\"", e.Profile)
	}
	return fmt.Sprintf("no such gateway '%s'; create its profile with \"hermes profile create %s\"", e.Profile, e.Profile)
}

// Unwrap makes it what drivers say of a service that they do not know.
func (e *NoGatewayError) Unwrap() error { return supervise.ErrNotRegistered }

func (r *Roster) service(name string) supervise.Service {
	s := r.gateway(name)
	s.Name = ServiceName(name)
	return s
}

// lock keeps others from the profile until the returned function is called.
func (r *Roster) lock(name string) (unlock func()) {
	l := &r.locks[maphash.String(r.seed, name)%uint64(len(r.locks))]
	l.Lock()
	return l.Unlock
}

// Register makes the gateway of a profile that is real known, up or down: supervise.ErrRegistered if it is known already.
func (r *Roster) Register(ctx context.Context, name string, start bool) error {
	if err := profile.Check(name); err != nil {
		return err
	}
	defer r.lock(name)()
	real, err := r.home.Real(name)
	if err == nil && !real {
		err = profile.ErrNotFound
	}
	if err == nil {
		err = r.driver.Register(ctx, r.service(name), start)
	}
	if err != nil {
		return fmt.Errorf("cannot register the gateway of %q: %w", name, err)
	}
	return nil
}

// Unregister ends and forgets a profile's gateway. What was wanted of it stays written down.
func (r *Roster) Unregister(ctx context.Context, name string) error {
	if profile.Check(name) != nil {
		return nil // none can be known by such a name
	}
	defer r.lock(name)()
	return r.driver.Unregister(ctx, ServiceName(name))
}

// Start wants a service up. A gateway that is not known is made known if its profile is real: it may have been made
// from outside just now.
func (r *Roster) Start(ctx context.Context, service string) error {
	name, is := ProfileOf(service)
	if !is {
		return r.driver.Start(ctx, service)
	}
	defer r.lock(name)()
	err := r.driver.Start(ctx, service)
	if errors.Is(err, supervise.ErrNotRegistered) {
		err = r.revive(ctx, name)
	}
	if err != nil {
		return err
	}
	return r.persist(name, profile.Running)
}

func (r *Roster) revive(ctx context.Context, name string) error {
	if profile.Check(name) != nil {
		return &NoGatewayError{name}
	}
	real, err := r.home.Real(name)
	if err != nil {
		return fmt.Errorf("cannot look at the profile %q: %w", name, err)
	}
	if !real {
		return &NoGatewayError{name}
	}
	if err := r.driver.Register(ctx, r.service(name), false); err != nil && !errors.Is(err, supervise.ErrRegistered) {
		return err
	}
	return r.driver.Start(ctx, ServiceName(name))
}

// Stop wants a service down. A gateway that runs is told beforehand that its owner stops it, if that is possible.
func (r *Roster) Stop(ctx context.Context, service string) error {
	name, is := ProfileOf(service)
	if !is {
		return r.driver.Stop(ctx, service)
	}
	defer r.lock(name)()
	status, err := r.known(ctx, name)
	if err != nil {
		return err
	}
	if status.Running() {
		if err := r.home.PlanStop(name, status.PID); err != nil {
			r.log.Warn("the gateway does not know that its owner stops it", "profile", name, "why", err)
		}
	}
	if err := r.driver.Stop(ctx, service); err != nil {
		return err
	}
	return r.persist(name, profile.Stopped)
}

// Restart ends what runs of a service, and wants it up.
func (r *Roster) Restart(ctx context.Context, service string) error {
	name, is := ProfileOf(service)
	if !is {
		return r.driver.Restart(ctx, service)
	}
	defer r.lock(name)()
	if _, err := r.known(ctx, name); err != nil {
		return err
	}
	if err := r.driver.Restart(ctx, service); err != nil {
		return err
	}
	return r.persist(name, profile.Running)
}

// known is the status of a profile's gateway, which must be registered.
func (r *Roster) known(ctx context.Context, name string) (supervise.Status, error) {
	status, err := r.driver.Status(ctx, ServiceName(name))
	if errors.Is(err, supervise.ErrNotRegistered) {
		err = &NoGatewayError{name}
	}
	return status, err
}

// persist writes down what was asked for, after it was done. That it cannot be written does not undo it, but whoever
// asked has to know.
func (r *Roster) persist(name, desired string) error {
	if err := r.home.SetDesired(name, desired); err != nil {
		return fmt.Errorf("it is done, but the next boot will not know of it: %w; make room on the volume, or mend the file, and repeat this", err)
	}
	return nil
}

// Service is what is known of a service.
func (r *Roster) Service(ctx context.Context, service string) (supervise.Status, error) {
	if name, is := ProfileOf(service); is {
		return r.known(ctx, name)
	}
	return r.driver.Status(ctx, service)
}

// Services is what is known of all services, by name.
func (r *Roster) Services(ctx context.Context) ([]supervise.Status, error) { return r.driver.List(ctx) }
