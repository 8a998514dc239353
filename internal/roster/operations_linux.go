package roster

import (
	"context"
	"fmt"
	"io"
	"time"

	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/supervise/logdir"
)

var _ control.Operations = (*Roster)(nil)

// Some drivers can do more than others; for those that cannot, the roster looks for itself.
type (
	waiter interface {
		Wait(ctx context.Context, name string, is func(supervise.Status) bool) (supervise.Status, error)
	}
	speaker interface {
		Log(ctx context.Context, name string, lines int, follow bool) (io.ReadCloser, error)
	}
)

// look is how often a driver that cannot wait is asked.
const look = 50 * time.Millisecond

// Wait returns when the service is as it is wanted, or will not be soon.
func (r *Roster) Wait(ctx context.Context, service string) (supervise.Status, error) {
	if w, can := r.driver.(waiter); can {
		return w.Wait(ctx, service, supervise.Status.Settled)
	}
	for {
		status, err := r.Service(ctx, service)
		if err != nil || status.Settled() {
			return status, err
		}
		select {
		case <-ctx.Done():
			return status, ctx.Err()
		case <-time.After(look):
		}
	}
}

// Log is what a service said: its last lines, all for a negative number, and to follow what it says from now on.
func (r *Roster) Log(ctx context.Context, service string, lines int, follow bool) (io.ReadCloser, error) {
	if s, can := r.driver.(speaker); can {
		return s.Log(ctx, service, lines, follow)
	}
	name, is := ProfileOf(service)
	if !is {
		return nil, fmt.Errorf("cannot show what %s said: its supervisor keeps no log of it", service)
	}
	if _, err := r.known(ctx, name); err != nil {
		return nil, err
	}
	log := logdir.Place{Dir: r.service(name).Log, Volume: r.home.Root, Hand: r.home.Hand}
	return log.Read(ctx, lines, follow)
}

// Health says which services that are wanted cannot be used.
func (r *Roster) Health(ctx context.Context) (control.Health, error) {
	all, err := r.driver.List(ctx)
	if err != nil {
		return control.Health{}, err
	}
	h := control.Health{Healthy: true}
	for _, s := range all {
		if why := ailing(s); why != "" {
			h.Healthy, h.Reasons = false, append(h.Reasons, why)
		}
	}
	return h, nil
}

// ailing says what is wrong with a service, or "". One that ended well by itself wants nothing; one that failed until
// it was given up is as wanted as it was.
func ailing(s supervise.Status) string {
	failed := s.State == supervise.Parked && (s.Last == nil || s.Last.Code != 0)
	if !failed && (s.Want != "up" || s.State == supervise.Ready || s.State == supervise.Parked) {
		return ""
	}
	switch {
	case s.State == supervise.Backoff:
		return fmt.Sprintf("%s failed and is to be tried again: %s", s.Name, s.Reason)
	case s.Reason != "":
		return fmt.Sprintf("%s is %s: %s", s.Name, s.State, s.Reason)
	}
	return fmt.Sprintf("%s is %s, and not ready", s.Name, s.State)
}
