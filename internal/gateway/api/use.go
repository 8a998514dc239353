package api

import (
	"context"
	"errors"

	"hermes.example/hermes/sandbox"
)

// need is what a request needs of the sandbox of its task.
type need int

const (
	alive    need = iota // it must run: what is looked for cannot be in one that does not
	existing             // it must be there: to look at it, or to take something away, makes none
	made                 // it is made if it is not there
)

// use calls f with the sandbox of a task.
func (a *API) use(ctx context.Context, task string, n need, f func(*sandbox.Sandbox) error) error {
	if n != made {
		info, err := a.Sandboxes.Manager().Find(ctx, a.Sandboxes.Identity(task))
		if err == nil && n == alive && info.State != sandbox.Running {
			err = sandbox.ErrNoCommand
		}
		if err != nil {
			return err
		}
	}
	return a.Sandboxes.Use(ctx, task, f)
}

// way is how f gets the sandbox of a task.
type way func(ctx context.Context, task string, f func(*sandbox.Sandbox) error) error

// useExisting calls f with the sandbox of a task, if that is there.
func (a *API) useExisting(ctx context.Context, task string, f func(*sandbox.Sandbox) error) error {
	return a.use(ctx, task, existing, f)
}

// look calls f with the sandbox of a task for what only looks at it: one that runs is not kept in use by that, however often
// or long somebody looks, nor made anew when it ends just then. One that does not run is used, for only its guest knows what
// was there.
func (a *API) look(ctx context.Context, task string, f func(*sandbox.Sandbox) error) error {
	box, err := a.Sandboxes.Manager().Observe(ctx, a.Sandboxes.Identity(task))
	switch {
	case errors.Is(err, sandbox.ErrNotFound):
		return a.useExisting(ctx, task, f)
	case err != nil:
		return err
	}
	defer box.Close()
	return f(box)
}
