// Package toolbox holds the tools that a model is given: a terminal, background processes and files, all in one sandbox.
//
// It owns the rules that make a sandbox fit for a model: how long an answer may be and where the rest of it goes, which
// commands are better started in the background, what is hidden, and what is told later. The doors call it, each with
// the sandbox that its caller means. It must never know by which protocol it was asked, run a command outside of the
// sandbox, or run one again that may have started.
package toolbox

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
)

// Place is the sandbox that the tools work in, found anew for each call.
type Place interface {
	// Use calls f with the sandbox, which is made if need be. What f returns is returned as it is. One for which f
	// returned sandbox.ErrGone or sandbox.ErrNotFound is not handed out again: the next call gets another.
	Use(ctx context.Context, f func(*sandbox.Sandbox) error) error
	// Variables are the caller's that each command gets, read for each.
	Variables() (map[string]string, error)
	// Isolated says that the sandbox is a boundary: paths inside are not the host's.
	Isolated() bool
}

// Options of a Toolbox.
type Options struct {
	Place Place
	// Session is whose directory, variables, functions and aliases the commands share.
	Session string
	// Home is where what is too long for an answer is kept.
	Home     string
	Settings config.Tools
	// Secrets are values that no answer may hold, beside those of the place's variables whose names say that they are
	// secret; read for each command. It may be nil.
	Secrets func() []config.Secret
	// Log may be nil.
	Log *slog.Logger
	// Now is time.Now unless a test has another.
	Now func() time.Time
}

// Toolbox is the tools of one session. It is safe for concurrent use. Close it when done: that ends nothing in the
// sandbox, only what waits here for notices.
type Toolbox struct {
	place    Place
	session  string
	home     string
	settings config.Tools
	secrets  func() []config.Secret
	log      *slog.Logger
	now      func() time.Time

	// beat is how often a command that runs is reported.
	beat time.Duration
	// patience is how long a command may outlast its timeout.
	patience time.Duration

	mu         sync.Mutex
	last       lastBox
	hasSession bool

	// starting is held while a process is started, so that two do not take one place.
	starting sync.Mutex
	notices  notices
	// finders help to search; a test has others.
	finders []finder
}

// New returns the tools of a session in a place.
func New(o Options) *Toolbox {
	t := &Toolbox{place: o.Place, session: o.Session, home: o.Home, settings: o.Settings, secrets: o.Secrets, log: o.Log, now: o.Now,
		beat: 5 * time.Second, patience: outerBound, finders: finders}
	if t.secrets == nil {
		t.secrets = func() []config.Secret { return nil }
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	if t.now == nil {
		t.now = time.Now
	}
	t.notices.open()
	return t
}

// Close ends what waits for notices, and waits for it.
func (t *Toolbox) Close() error {
	t.notices.close()
	return nil
}

// Refusal is an error that a model can act on: one sentence with what was refused, why, and what to do instead. Any
// other error is about Hermes.
type Refusal struct{ Text string }

func (r *Refusal) Error() string { return r.Text }

func refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }
