package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/image"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
)

// Progress is told how far each layer is that the daemon fetches; it must return at once.
// The total is 0 while nobody knows it.
type Progress interface {
	Layer(digest string, done, total int64)
}

// pullBound is how long fetching an image may take unless the options say so. It is not
// part of the time that starting a container may take.
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

func (e *Engine) pull(ctx context.Context, name string) error {
	bound := cmp.Or(e.options.PullBound, pullBound)
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	err := e.follow(ctx, name)
	switch {
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return fmt.Errorf("it did not come within %s; fetch it with \"%s pull %s\", and try again", bound, e.Name(), name)
	case err != nil && isDenied(err):
		return fmt.Errorf("%w; if it needs a login, use \"%s login\" with its registry", err, e.Name())
	}
	return err
}

// follow has the daemon fetch an image, and passes on how far it is.
func (e *Engine) follow(ctx context.Context, name string) error {
	pulling, err := e.api.ImagePull(ctx, name, client.ImagePullOptions{RegistryAuth: e.registryAuth(name)})
	if err != nil {
		return explain(err)
	}
	defer pulling.Close()
	layers := progress{to: e.options.Progress, totals: make(map[string]int64)}
	for message, err := range pulling.JSONMessages(ctx) {
		if err != nil {
			return err
		}
		if message.Error != nil {
			return &daemonError{message.Error}
		}
		layers.pass(message)
	}
	return ctx.Err()
}

// isDenied says whether a registry wants to know who asks. Daemons pass its words on
// under various statuses.
func isDenied(err error) bool {
	if errdefs.IsUnauthorized(err) || errdefs.IsPermissionDenied(err) {
		return true
	}
	for _, word := range []string{"unauthorized", "denied", "authentication required", "no basic auth credentials"} {
		if strings.Contains(strings.ToLower(err.Error()), word) {
			return true
		}
	}
	return false
}

// progress makes of what the daemon says how far each layer is. What it says of
// unpacking counts the same bytes again, and is left out.
type progress struct {
	to     Progress
	totals map[string]int64
}

func (p progress) pass(m jsonstream.Message) {
	if p.to == nil || m.ID == "" {
		return
	}
	switch {
	case m.Status == "Downloading" && m.Progress != nil:
		p.totals[m.ID] = m.Progress.Total
		p.to.Layer(m.ID, m.Progress.Current, m.Progress.Total)
	case m.Status == "Download complete" || m.Status == "Pull complete":
		if total := p.totals[m.ID]; total > 0 {
			p.to.Layer(m.ID, total, total)
			delete(p.totals, m.ID)
		}
	}
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
