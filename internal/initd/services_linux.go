package initd

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"

	"hermes.example/hermes/internal/asuser"
	"hermes.example/hermes/internal/boot"
	"hermes.example/hermes/internal/entry"
	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
)

// services is what is kept running beside the main program. Its life: startServices, stop, close. The zero value
// keeps nothing.
type services struct {
	supervisor *supervise.Supervisor
	result     *boot.Result
	// Logs do not wait while files of profiles are being removed.
	logs, files *asuser.Hand

	cancel  context.CancelFunc // of the workers
	workers sync.WaitGroup
}

// startServices begins to supervise what the volume and the environment want. Where another container does that
// already there is nothing to keep: an error if that was all that this one is for.
func startServices(c *container, result *boot.Result) (*services, error) {
	s := &services{result: result}
	purpose := entry.Purpose(c.command)
	if result.Holder != nil {
		if job := supervision(purpose); job != "" {
			return nil, fmt.Errorf("cannot run %q: %w", job, result.Holder)
		}
		say("no gateways and no dashboard: %v", result.Holder)
		return s, nil
	}
	var err error
	if s.logs, err = asuser.New(result.Files()); err != nil {
		return nil, err
	}
	if s.files, err = asuser.New(result.Files()); err != nil {
		return nil, err
	}
	s.supervisor = supervise.New(supervise.Options{
		Reaper: c.reaper, Output: os.Stdout, Hand: s.logs, Volume: result.RootHome, Log: c.log,
	})
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.registerFixed(ctx, c, purpose)
	gateways := roster.New(roster.Options{
		Home: &profile.Home{Root: result.RootHome, Hand: s.files}, Driver: s.supervisor, Gateway: offer{result}.gateway, Log: c.log,
	})
	socket, err := listen(result.User.UID)
	if err != nil {
		say("nobody can ask for a service: %v", err)
	}
	gateways.Reconcile(ctx, roster.Boot{Command: c.command, NoSupervise: result.NoSupervise, Multiplex: result.Multiplex})
	if socket != nil {
		s.work(func() { s.serve(ctx, socket, gateways, c.log) })
	}
	s.work(func() { gateways.Watch(ctx) })
	s.work(func() { s.keepLease(ctx) })
	return s, nil
}

// supervision is what a container is for that only one a volume may do, or nothing.
func supervision(purpose []string) string {
	switch {
	case len(purpose) > 0 && purpose[0] == "dashboard":
		return "dashboard"
	case len(purpose) > 1 && purpose[0] == "gateway" && purpose[1] == "run":
		return "gateway run"
	}
	return ""
}

// registerFixed makes the services known that every container of this image has, be they wanted or not.
func (s *services) registerFixed(ctx context.Context, c *container, purpose []string) {
	offer := offer{s.result}
	// A container whose main program is the dashboard has one already.
	dashboard := s.result.Dashboard && supervision(purpose) != "dashboard"
	if err := s.supervisor.Replace(ctx, offer.dashboard(), dashboard); err != nil {
		c.log.Error("the dashboard is not supervised", "why", err)
	}
	for _, f := range s.result.Foreign {
		if err := s.supervisor.Register(ctx, offer.foreign(f), true); err != nil {
			c.log.Warn("a service of the image is not supervised", "service", f.Name, "why", err)
		}
	}
}

// serve answers who asks through the control socket. Whoever connected before now has waited: all gateways are known
// when the first is answered.
func (s *services) serve(ctx context.Context, socket net.Listener, gateways *roster.Roster, log *slog.Logger) {
	if err := control.Serve(ctx, socket, gateways, log); err != nil && ctx.Err() == nil {
		say("nobody can ask for a service any more: %v", err)
	}
}

// keepLease shows others that this container supervises the volume. Who loses the lease goes on: its gateways hold
// locks of their own, and to end them would be worse than a warning.
func (s *services) keepLease(ctx context.Context) {
	if s.result.Lease == nil {
		return
	}
	if err := s.result.Lease.Keep(ctx); err != nil {
		say("the volume is no longer this container's alone: %v", err)
	}
}

func (s *services) work(f func()) {
	s.workers.Add(1)
	go func() {
		defer s.workers.Done()
		f()
	}()
}

// stop ends all services; when ctx ends, by force.
func (s *services) stop(ctx context.Context) {
	if s.supervisor == nil {
		return
	}
	for _, survivor := range s.supervisor.Shutdown(ctx) {
		say("cannot end the service %s: it is %s: %s", survivor.Service, survivor.State, survivor.Reason)
	}
}

// close gives up what stop still needed.
func (s *services) close() {
	if s.supervisor == nil {
		return
	}
	s.cancel()
	s.workers.Wait()
	s.result.Lease.Release()
	s.files.Close()
	s.logs.Close()
}
