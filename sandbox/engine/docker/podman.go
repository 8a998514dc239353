package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/volume"
	"github.com/moby/moby/client"
)

// Podman speaks as Docker does, but for what is here.

// isPodman says whether the daemon is one.
func (e *Engine) isPodman() bool { return e.options.Name == "podman" }

// isNotFound says whether there is no such container. Podman answers as if it had failed
// itself while it removes one.
func isNotFound(err error) bool {
	return errdefs.IsNotFound(err) || errdefs.IsInternal(err) && strings.Contains(err.Error(), "no such container")
}

// isTaken says whether another container has the name. To Podman that is a failure of its
// own, too.
func isTaken(err error) bool {
	return errdefs.IsConflict(err) || errdefs.IsInternal(err) && strings.Contains(err.Error(), "name is already in use")
}

// makeVolume makes a volume, or finds the one that is there. Podman fails if somebody else makes it at the same time.
func (e *Engine) makeVolume(ctx context.Context, o client.VolumeCreateOptions) (volume.Volume, error) {
	made, err := e.api.VolumeCreate(ctx, o)
	if err == nil || !strings.Contains(err.Error(), "volume already exists") {
		return made.Volume, err
	}
	found, err := e.api.VolumeInspect(ctx, o.Name, client.VolumeInspectOptions{})
	return found.Volume, err
}

// hasStopped says whether a container ran and does no more. Podman has names for the
// moments in which that comes about.
func hasStopped(s container.ContainerState) bool {
	return slices.Contains([]container.ContainerState{container.StateExited, "stopping", "stopped"}, s)
}

// isOwn says whether a namespace is the container's. Docker leaves that out, Podman says
// so.
func isOwn(mode container.PidMode) bool { return mode == "" || mode == "private" }

// ownedBy are the options by which a file system in memory belongs to whom the container
// runs as. Podman finds out itself who that is, and does not take numbers.
func (e *Engine) ownedBy(uid, gid int) string {
	if e.isPodman() {
		return ",U"
	}
	return fmt.Sprintf(",uid=%d,gid=%d", uid, gid)
}

// granted are the capabilities that whoever the container runs as has been given. Docker
// repeats what it was asked for. Podman tells only what differs from its configuration,
// except by an answer of its own.
func (e *Engine) granted(ctx context.Context, c container.InspectResponse) ([]string, error) {
	if !e.isPodman() {
		return c.HostConfig.CapAdd, nil
	}
	daemon := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return e.api.Dialer()(ctx)
	}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://podman/v4.0.0/libpod/containers/"+url.PathEscape(c.ID)+"/json", nil)
	if err != nil {
		return nil, err
	}
	answer, err := daemon.Do(request)
	if err != nil {
		return nil, explain(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("cannot ask Podman for the capabilities of a container: it answers %s", answer.Status)
	}
	var found struct{ EffectiveCaps []string }
	err = json.NewDecoder(answer.Body).Decode(&found)
	return found.EffectiveCaps, err
}
