// Package upkeep keeps a whole home running on a machine that is no container: it supervises the gateways of its
// profiles and its dashboard, answers on the home's control socket, and ends all of it in order.
//
// "hermes up" calls it. It has a reaper: whoever uses it starts no process in another way. It changes nothing of the
// machine outside the home and the run directory, and needs no rights but its caller's.
package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hermes.example/hermes/internal/lease"
	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/supervise/reaper"
)

// Dashboard is the name of the dashboard among the services.
const Dashboard = "dashboard"

// lifeline is the descriptor by which services notice that their supervisor is gone.
const lifeline = 4

// Options are what a home is kept running with.
type Options struct {
	// Home is the directory of all profiles. It exists.
	Home string
	// Program is hermes itself, by an absolute path.
	Program string
	// Env is the environment of every service.
	Env []string
	// Dashboard are the arguments of "hermes dashboard".
	Dashboard []string
	// Multiplex makes the default gateway speak for all profiles.
	Multiplex bool
	// Root lets services run as root.
	Root bool
	// Output gets what services say, besides their logs.
	Output io.Writer
	// Log gets what becomes of the services.
	Log *slog.Logger
}

// Upkeep is a home that is kept running. Its life: Start, any number of operations from any goroutine and from other
// processes by the control socket, Stop.
type Upkeep struct {
	options    Options
	reaper     *reaper.Reaper
	supervisor *supervise.Supervisor
	roster     *roster.Roster
	lease      *lease.Lease
	socket     net.Listener

	cancel  context.CancelFunc // of the workers
	workers sync.WaitGroup
}

// Start takes the home's lease and begins to keep what is wanted running: the dashboard, and the gateways that their
// owners want, the default one included unless its owner stopped it. A *lease.HeldError says that another one does, a
// *HomeError that nobody can.
func Start(ctx context.Context, o Options) (*Upkeep, error) {
	u := &Upkeep{options: o}
	if err := u.claim(ctx); err != nil {
		return nil, err
	}
	// What a service leaves behind, and the sandboxes that it makes, become our children: they end with us.
	if err := reaper.Subreaper(); err != nil {
		o.Log.Warn("what services leave behind may outlive them", "why", err)
	}
	u.reaper = reaper.New()
	u.supervisor = supervise.New(supervise.Options{Reaper: u.reaper, Output: o.Output, Volume: o.Home, Root: o.Root, Log: o.Log})
	home := &profile.Home{Root: o.Home}
	u.roster = roster.New(roster.Options{Home: home, Driver: u.supervisor, Gateway: u.gateway, Log: o.Log})
	if err := u.supervisor.Register(ctx, u.dashboard(), true); err != nil {
		u.Stop(ctx)
		return nil, err
	}
	if state, _ := home.State(profile.Default); state.Desired == "" {
		if err := home.SetDesired(profile.Default, profile.Running); err != nil {
			o.Log.Warn("the gateway may not come back by itself", "profile", profile.Default, "why", err)
		}
	}
	u.roster.Reconcile(ctx, roster.Boot{Multiplex: o.Multiplex})
	var working context.Context
	working, u.cancel = context.WithCancel(context.Background())
	u.workers.Go(func() { u.serve(working) })
	u.workers.Go(func() { u.roster.Watch(working) })
	u.workers.Go(func() { u.keepLease(working) })
	return u, nil
}

// HomeError says that it is the home that cannot be used, and not the machine around it.
type HomeError struct{ Err error }

func (e *HomeError) Error() string { return "cannot use the home: " + e.Err.Error() }
func (e *HomeError) Unwrap() error { return e.Err }

// claim makes us the only one who keeps this home, and the one who is found.
func (u *Upkeep) claim(ctx context.Context) error {
	home, err := os.Open(u.options.Home)
	if err != nil {
		return &HomeError{err}
	}
	defer home.Close()
	u.lease, err = lease.Take(ctx, int(home.Fd()), lease.Options{Warn: func(err error) { u.options.Log.Warn(err.Error()) }})
	if held := (*lease.HeldError)(nil); errors.As(err, &held) {
		return err
	}
	if err != nil {
		return &HomeError{err}
	}
	if _, err = rundir.Find(); err == nil {
		var path string
		if path, err = control.SocketOf(u.options.Home); err == nil {
			u.socket, err = control.Listen(path)
		}
	}
	if err != nil {
		u.lease.Release()
	}
	return err
}

// Services are what is kept, to be asked.
func (u *Upkeep) Services() *roster.Roster { return u.roster }

func (u *Upkeep) gateway(name string) supervise.Service {
	s := roster.Gateway(u.options.Program, u.options.Home, name, u.options.Env)
	s.Lifeline = lifeline
	return s
}

func (u *Upkeep) dashboard() supervise.Service {
	o := u.options
	env := slices.DeleteFunc(slices.Clone(o.Env), func(v string) bool { return strings.HasPrefix(v, "HERMES_HOME=") })
	return supervise.Service{
		Name: Dashboard, Argv: append([]string{o.Program, "dashboard", "--no-open"}, o.Dashboard...),
		Env: append(env, "HERMES_HOME="+o.Home), Dir: o.Home, Log: filepath.Join(o.Home, "logs", Dashboard),
		Ready: roster.Announced, Lifeline: lifeline,
	}
}

// serve answers who asks through the control socket.
func (u *Upkeep) serve(ctx context.Context) {
	if err := control.Serve(ctx, u.socket, u.roster, u.options.Log); err != nil && ctx.Err() == nil {
		u.options.Log.Error("nobody can ask for a service any more", "why", err)
	}
}

// keepLease shows others that this home is kept. Who loses the lease goes on: its gateways hold locks of their own.
func (u *Upkeep) keepLease(ctx context.Context) {
	if err := u.lease.Keep(ctx); err != nil {
		u.options.Log.Error("this home is no longer kept by this process alone", "why", err)
	}
}

// Stop ends all services, and then what else runs below this process, as the sandboxes that services made. When ctx
// ends it is done by force. The error names what survived even that.
func (u *Upkeep) Stop(ctx context.Context) error {
	var left []error
	for _, survivor := range u.supervisor.Shutdown(ctx) {
		left = append(left, fmt.Errorf("cannot end the service %s: it is %s: %s", survivor.Service, survivor.State, survivor.Reason))
	}
	if u.cancel != nil {
		u.cancel()
		u.workers.Wait()
	} else {
		u.socket.Close()
	}
	reaper.EndBelow(ctx.Err() != nil)
	u.reaper.Close()
	u.lease.Release()
	return errors.Join(left...)
}
