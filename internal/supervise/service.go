// Package supervise keeps services running: it starts them as the service user, brings them back when they
// fail, parks them when that is hopeless, ends them with all that they started, and keeps what they say.
//
// hermes-init calls it as PID 1; the command line and the dashboard ask it through package control. It knows
// nothing of profiles or gateways: a service is a name and a command line that its caller gave it, and only
// its caller, never who speaks to the control socket, can say what runs.
package supervise

import (
	"errors"
	"time"
)

// Service is what is kept running. Its life: Register makes it known, down or wanted up; Start, Stop and
// Restart change what is wanted; Unregister ends and forgets it.
type Service struct {
	// Name is how it is known: letters, digits, "-" and "_".
	Name string
	// Argv is the command line; the first word is an absolute path.
	Argv []string
	// Env is the whole environment.
	Env []string
	// Dir is where it starts.
	Dir string
	// User is who it runs as; nil means as whoever supervises it, who then is not root unless the supervisor's Options
	// say so.
	User *User
	// Limits are resource limits; what the supervisor may not set is left as it is.
	Limits []Limit
	// Log is the directory in which what it says is kept, line by line with the time; empty keeps nothing.
	// Either way it goes to the supervisor's own output as it is.
	Log string
	// Ready says when it can be used; the zero value means as soon as it runs.
	Ready Readiness
	// Lifeline is a descriptor that it reads the end of when the supervisor ends, however that comes about; its number is
	// also in the environment as HERMES_LIFELINE_FD. Zero means none.
	Lifeline int
	// Health is looked at while it is ready; nil means that a process that lives is well.
	Health *Health
	// Stop is how it is ended.
	Stop Stopping
	// Restart is how it is brought back.
	Restart Restarting
}

// User is who a service runs as: what the password database said when it was asked last.
type User struct {
	UID, GID int
	Groups   []int
}

// Limit is one resource limit, by the number that the kernel knows it by.
type Limit struct {
	Resource  int
	Soft, Max uint64
}

// Readiness says when a service can be used. At most one way is given.
type Readiness struct {
	// Notify is the descriptor to which the service writes a line when it is ready; its number is also in
	// the environment as HERMES_NOTIFY_FD.
	Notify int
	// HTTP is a URL on this machine that answers 2xx.
	HTTP string
	// After is how long it has to live.
	After time.Duration
	// Within bounds all ways: a service that is not ready by then is ended and counts as failed.
	Within time.Duration
}

// Health is a check that is repeated. A service that fails it Failures times in a row is ended, and counts as failed.
type Health struct {
	HTTP     string
	Every    time.Duration
	Timeout  time.Duration
	Failures int
}

// Stopping is how a service is ended: a signal, a grace, and then the kill of its whole tree.
type Stopping struct {
	Signal int           // zero means SIGTERM
	Grace  time.Duration // zero means DefaultGrace
}

// Restarting is how a service that failed comes back: after a pause that doubles from Min to Max, with jitter,
// and not any more once it failed Burst times within Window: then it is parked.
type Restarting struct {
	Min, Max time.Duration
	Burst    int
	Window   time.Duration
}

// The defaults of what is zero.
const (
	DefaultGrace = 5 * time.Second
	DefaultMin   = 1 * time.Second
	DefaultMax   = 60 * time.Second
	DefaultBurst = 10
	// DefaultWindow has room for Burst failures with their pauses, so that a loop is always found.
	DefaultWindow = 15 * time.Minute
	// DefaultWithin is how long a service has to become ready.
	DefaultWithin   = 60 * time.Second
	DefaultEvery    = 30 * time.Second
	DefaultTimeout  = 5 * time.Second
	DefaultFailures = 3
)

// State is where a service is.
type State string

// The states. A service that is wanted up goes from down through starting and up to ready, and through
// backoff back to starting when it fails. It is parked when it ended in a way that says "do not restart me",
// or failed too often; only a Start, a Restart or a boot takes it out of there.
const (
	Down     State = "down"
	Starting State = "starting"
	Up       State = "up"    // it runs
	Ready    State = "ready" // it runs and can be used
	Halting  State = "stopping"
	Backoff  State = "backoff"
	Parked   State = "parked"
)

// Exit is how a process ended: by a status or by a signal.
type Exit struct {
	Code   int       `json:"code"`             // 128 and the number for a signal, as shells say it
	Signal string    `json:"signal,omitempty"` // its name, like SIGKILL
	At     time.Time `json:"at"`
}

// Statuses with a meaning of their own.
const (
	ExitRestart   = 75  // "restart me": not a failure
	ExitConfig    = 78  // the configuration is bad: parked
	ExitPermanent = 125 // hopeless: parked
)

// Status is what is known of a service. It is what the control socket sends.
type Status struct {
	Name     string    `json:"name"`
	Want     string    `json:"want"` // "up" or "down"
	State    State     `json:"state"`
	PID      int       `json:"pid,omitempty"`
	Since    time.Time `json:"since"`              // when it came into the state
	Reason   string    `json:"reason,omitempty"`   // why it is parked, or waits
	Next     time.Time `json:"next,omitzero"`      // when it is started again, in backoff
	Last     *Exit     `json:"last,omitempty"`     // how it ended the last time
	Restarts int       `json:"restarts,omitempty"` // since it was last started by somebody
}

// Running says whether there is a process.
func (s Status) Running() bool { return s.PID > 0 }

// Settled says whether it is as it is wanted, or will not be soon: what somebody waits for who asked for a change.
func (s Status) Settled() bool {
	switch s.State {
	case Ready, Parked, Backoff:
		return s.Want == "up"
	case Down:
		return s.Want == "down"
	}
	return false
}

// What callers can act on.
var (
	ErrNotRegistered = errors.New("no such service")
	ErrRegistered    = errors.New("already registered")
	ErrClosed        = errors.New("the supervisor is shutting down")
)
