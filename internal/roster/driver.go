// Package roster keeps one gateway a profile: it knows which profile's gateway is to run, asks a driver to keep
// it so, and writes down what its owner wanted where the next boot finds it.
//
// hermes-init uses it with the built-in supervisor, the command line with s6 where an image brings that. It
// never starts anything but gateways of profiles that are real.
package roster

import (
	"context"

	"hermes.example/hermes/internal/supervise"
)

// Driver keeps services running: the supervisor in hermes-init, or s6. Every call is bounded, and done twice
// it does what it does once. Errors are supervise's, or a *ControlError.
type Driver interface {
	// Register makes a service known, wanted up or down: supervise.ErrRegistered if it is known already.
	Register(ctx context.Context, s supervise.Service, up bool) error
	// Replace does what Register does, whether it is known or not.
	Replace(ctx context.Context, s supervise.Service, up bool) error
	// Unregister ends and forgets a service; one that is not known is none to end.
	Unregister(ctx context.Context, name string) error
	Start(ctx context.Context, name string) error
	Stop(ctx context.Context, name string) error
	// Restart ends the process and brings it back; a service that is down is started.
	Restart(ctx context.Context, name string) error
	Status(ctx context.Context, name string) (supervise.Status, error)
	// List is sorted by name. Where no supervisor ever was there are none.
	List(ctx context.Context) ([]supervise.Status, error)
}
