// Package control is how the supervisor is spoken to: HTTP and JSON over a unix socket. hermes-init serves it; the
// command line, the dashboard and health checks are its clients.
//
// Who may speak is decided by the user id that the kernel tells of the other side. A caller can name a service that
// is known, or a profile: never a command line. openapi.yaml says what is spoken.
package control

import (
	"context"
	"io"

	"hermes.example/hermes/internal/supervise"
)

// Operations are what a server does for its clients; a Client has the same ones. Errors that a client can act on are
// package supervise's, and travel as what they are.
type Operations interface {
	Services(ctx context.Context) ([]supervise.Status, error)
	Service(ctx context.Context, name string) (supervise.Status, error)
	Start(ctx context.Context, name string) error
	Stop(ctx context.Context, name string) error
	Restart(ctx context.Context, name string) error
	// Wait returns when the service's status is settled.
	Wait(ctx context.Context, name string) (supervise.Status, error)
	// Register makes the gateway of a profile known; supervise.ErrRegistered if it is known already.
	Register(ctx context.Context, profile string, start bool) error
	// Unregister ends and forgets it; one that is not known is none to end.
	Unregister(ctx context.Context, profile string) error
	// Log is what the service said: its last lines and, to follow, what it says from now on.
	Log(ctx context.Context, name string, lines int, follow bool) (io.ReadCloser, error)
	Health(ctx context.Context) (Health, error)
}

// Health is whether all is as it is wanted.
type Health struct {
	Healthy bool `json:"healthy"`
	// Reasons are why not, one line each.
	Reasons []string `json:"reasons,omitempty"`
}
