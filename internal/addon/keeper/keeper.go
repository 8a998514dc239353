// Package keeper keeps backends warm between commands: a process of ours that holds a pool of them and answers over a
// socket in the run directory. Whoever calls first starts it; it leaves by itself when nobody has called for a while,
// and its backends go with it.
//
// The command line calls it, and is it. There is one for each user, home and environment that backends would see. It
// is a convenience and never needed: who cannot reach one calls in his own process, and waits for the start of the
// backend. What a caller hands over, secrets among it, goes over the socket only, and nobody but the same user is
// answered.
package keeper

import (
	"context"
	"encoding/json"
	"time"

	"hermes.example/hermes/internal/addon/backend"
)

// Pool is what a keeper holds; *backend.Pool is one.
type Pool interface {
	Call(ctx context.Context, feature, tool string, arguments json.RawMessage, variables map[string]string) (backend.Result, error)
	Tools(ctx context.Context, feature string, variables map[string]string) ([]backend.Tool, error)
	Status() []backend.State
	Close()
}

// Keeper says which one is meant, and how it is started. It has no state: every method finds the keeper anew.
type Keeper struct {
	Home string
	// Environ is all of its environment; see Environ.
	Environ []string
	// Program is what serves, with these arguments, its name the first of them.
	Program   string
	Arguments []string
	// Build tells builds apart: a keeper of another one is replaced.
	Build string

	patience time.Duration // zero means the default
}

// Status is what a keeper says of itself.
type Status struct {
	PID      int             `json:"pid"`
	Build    string          `json:"build"`
	Started  time.Time       `json:"started"`
	Calls    int             `json:"calls"` // that run now
	Backends []backend.State `json:"backends"`
}

// UnreachableError says that a keeper could be neither reached nor started. Nothing was called.
type UnreachableError struct{ Cause error }

func (e *UnreachableError) Error() string { return "cannot keep backends warm: " + e.Cause.Error() }

func (e *UnreachableError) Unwrap() error { return e.Cause }
