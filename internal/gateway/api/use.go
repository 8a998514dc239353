package api

import (
	"context"

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
