package docker

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
)

// Remove ends the sandbox: it asks its guest to, and removes the container with all that
// is in it. It returns after the removal.
func (e *Engine) Remove(ctx context.Context, id sandbox.Identity, files bool) error {
	id = id.Normal()
	found, err := e.look(ctx, id) // also one that the daemon is removing, for whose end we wait
	switch {
	case errors.Is(err, sandbox.ErrNotFound):
	case err != nil:
		return err
	default:
		if err := e.end(ctx, found.ID, found.State.Running && !found.State.Paused); err != nil {
			return err
		}
	}
	e.guests.Delete(id)
	e.links.Delete(id)
	if err := os.RemoveAll(e.runDir(id)); err != nil {
		return err
	}
	if !files {
		return nil
	}
	return errors.Join(e.erase(ctx, e.dir(id), found.Image), e.removeVolumes(ctx, id))
}

// end stops and removes a container.
func (e *Engine) end(ctx context.Context, id string, running bool) error {
	if running {
		seconds := stopSeconds
		if _, err := e.api.ContainerStop(ctx, id, client.ContainerStopOptions{Timeout: &seconds}); err != nil && !isNotFound(err) {
			e.log.Warn("the container did not stop and is removed all the same", "container", id, "error", err)
		}
	}
	_, err := e.api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !isNotFound(err) && !errdefs.IsConflict(err) {
		return explain(err)
	}
	return e.awaitRemoval(ctx, id)
}

// awaitRemoval waits for a container to be gone: somebody else, or the daemon by itself,
// may be removing it.
func (e *Engine) awaitRemoval(ctx context.Context, id string) error {
	for pause := time.Millisecond; ; pause = min(pause*2, 100*time.Millisecond) {
		_, err := e.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
		if isNotFound(err) {
			return nil
		}
		if err != nil {
			return explain(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// isLeaving says whether an identity's container was being removed by the daemon itself,
// as it does with an ephemeral one that ended, and waits until it has been.
func (e *Engine) isLeaving(ctx context.Context, id sandbox.Identity) bool {
	found, err := e.api.ContainerInspect(ctx, containerName(id), client.ContainerInspectOptions{})
	if isNotFound(err) {
		return true
	}
	c := found.Container
	return err == nil && isOf(c.Config.Labels, id) && leaves(c) && e.awaitRemoval(ctx, c.ID) == nil
}

// leaves says whether a container is about to be gone.
func leaves(c container.InspectResponse) bool {
	return c.State.Status == container.StateRemoving || c.HostConfig.AutoRemove && hasStopped(c.State.Status)
}
