package survey

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/wording"
)

// Supervised calls do with the services of this machine, or returns why there are none: ErrNoSupervisor, or that the
// supervisor does not answer.
type Supervised func(ctx context.Context, do func(control.Operations) error) error

// Kind is what a service is for.
type Kind string

// The kinds.
const (
	Gateway   Kind = "gateway"
	Dashboard Kind = "dashboard"
	Other     Kind = "other"
)

// State is how a service is, for people: one that runs and is not ready yet still starts.
type State string

// The states.
const (
	Up       State = "up"
	Starting State = "starting"
	Stopping State = "stopping"
	Down     State = "down"
	Backoff  State = "backoff"
	Parked   State = "parked"
)

var states = map[supervise.State]State{
	supervise.Down: Down, supervise.Starting: Starting, supervise.Up: Starting, supervise.Ready: Up,
	supervise.Halting: Stopping, supervise.Backoff: Backoff, supervise.Parked: Parked,
}

// Service is what the supervisor keeps.
type Service struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Profile is whose gateway it is.
	Profile string `json:"profile,omitempty"`
	State   State  `json:"state"`
	Want    string `json:"want"`
	// Text is all of it in one sentence, that of "hermes service status".
	Text string `json:"text"`
	// Reason is why it is parked, or waits.
	Reason   string    `json:"reason,omitempty"`
	PID      int       `json:"pid,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Restarts int       `json:"restarts"`
	// Supervised says that somebody keeps it.
	Supervised bool `json:"supervised"`
}

// ServiceOf is a service as its supervisor tells of it.
func ServiceOf(s supervise.Status, now time.Time) Service {
	one := Service{Name: s.Name, Kind: Other, State: states[s.State], Want: s.Want, Text: Sentence(s, now), Reason: wording.OneLine(s.Reason),
		PID: s.PID, Since: s.Since, Restarts: s.Restarts, Supervised: true}
	if name, is := roster.ProfileOf(s.Name); is {
		one.Kind, one.Profile = Gateway, name
	} else if s.Name == string(Dashboard) {
		one.Kind = Dashboard
	}
	return one
}

// Services are all that are kept, in the supervisor's order.
func Services(ctx context.Context, supervised Supervised) ([]Service, error) {
	all := []Service{}
	if supervised == nil {
		return all, ErrNoSupervisor
	}
	err := supervised(ctx, func(o control.Operations) error {
		found, err := o.Services(ctx)
		for _, s := range found {
			all = append(all, ServiceOf(s, time.Now()))
		}
		return err
	})
	return all, err
}

// Sentence is a service's status in one line. Scripts look for "up (pid N)", "down" and ", want up", which is only
// said of one that is down.
func Sentence(s supervise.Status, now time.Time) string {
	var b strings.Builder
	if s.Running() {
		fmt.Fprintf(&b, "up (pid %d) %s", s.PID, wording.Span(now.Sub(s.Since)))
	} else {
		b.WriteString("down")
		if s.Last != nil {
			fmt.Fprintf(&b, " (%s)", exitText(*s.Last))
		}
		fmt.Fprintf(&b, " %s", wording.Span(now.Sub(s.Since)))
	}
	switch s.State {
	case supervise.Up, supervise.Starting:
		b.WriteString(", not ready yet")
	case supervise.Halting:
		b.WriteString(", stopping")
	case supervise.Parked:
		b.WriteString(", parked")
	}
	switch {
	case s.Running() && s.Want == "down":
		b.WriteString(", want down")
	case !s.Running() && s.Want == "up" && s.State != supervise.Parked:
		b.WriteString(", want up")
	}
	if s.State == supervise.Backoff && !s.Next.IsZero() {
		fmt.Fprintf(&b, ", again in %s", wording.Span(max(0, s.Next.Sub(now))))
	}
	if s.Reason != "" {
		b.WriteString(": " + wording.OneLine(s.Reason))
	}
	return b.String()
}

func exitText(e supervise.Exit) string {
	if e.Signal != "" {
		return "signal " + e.Signal
	}
	return fmt.Sprintf("exit %d", e.Code)
}
