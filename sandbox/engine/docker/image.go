package docker

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/image"
	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
)

// Progress is told of an image that the daemon fetches.
type Progress interface {
	// Begin is called once for an image.
	Begin(name string)
	// Layer tells how far one is; total is 0 while that is not known.
	Layer(id, status string, done, total int64)
	// End is called once, with the reason if it failed.
	End(err error)
}

// pullBound is how long fetching an image may take. It is not part of the time that
// starting a container may take.
const pullBound = 30 * time.Minute

// getImage returns an image, fetched if the daemon does not have it.
func (e *Engine) getImage(ctx context.Context, name string) (image.InspectResponse, error) {
	if name == "" {
		return image.InspectResponse{}, fmt.Errorf("a sandbox of %s is made of an image: name one", e.Name())
	}
	found, err := e.api.ImageInspect(ctx, name)
	if errdefs.IsNotFound(err) {
		if err := e.pull(ctx, name); err != nil {
			return image.InspectResponse{}, fmt.Errorf("cannot fetch the image %q: %w", name, err)
		}
		found, err = e.api.ImageInspect(ctx, name)
	}
	if err != nil {
		return image.InspectResponse{}, fmt.Errorf("cannot look at the image %q: %w", name, explain(err))
	}
	return found.InspectResponse, nil
}

func (e *Engine) pull(ctx context.Context, name string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, pullBound)
	defer cancel()
	if p := e.options.Progress; p != nil {
		p.Begin(name)
		defer func() { p.End(err) }()
	}
	pulling, err := e.api.ImagePull(ctx, name, client.ImagePullOptions{RegistryAuth: registryAuth(name)})
	if err != nil {
		return explain(err)
	}
	defer pulling.Close()
	for message, err := range pulling.JSONMessages(ctx) {
		if err != nil {
			return err
		}
		if message.Error != nil {
			return message.Error
		}
		if p := e.options.Progress; p != nil && message.Progress != nil {
			p.Layer(message.ID, message.Status, message.Progress.Current, message.Progress.Total)
		}
	}
	return ctx.Err()
}

// whyNotStarted says what of an image is in the way of a sandbox's own places, if that is
// why a container could not be started. What runtimes say of it is for those who know them.
func (e *Engine) whyNotStarted(ctx context.Context, id string, err error) error {
	for _, place := range []string{"/tmp", "/var/tmp", "/run", sandbox.Workspace, sandbox.Home, "/home"} {
		found, statErr := e.api.ContainerStatPath(ctx, id, client.ContainerStatPathOptions{Path: place})
		if statErr == nil && found.Stat.Mode.IsRegular() {
			return fmt.Errorf("its image has a file at %s, where a directory is needed: remove it from the image, or use another", place)
		}
	}
	return explain(err)
}
