package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
)

// Labels beside those of an identity. What they hold is what any later process needs to
// know of a sandbox.
const (
	labelIdentity = "hermes-identity"
	labelSpec     = "hermes-spec" // without the values of variables
	labelHash     = "hermes-spec-hash"
	labelBuild    = "hermes-guest"
	labelTicket   = "hermes-ticket"        // of one attempt to make it
	labelNoDisk   = "hermes-no-disk-limit" // why it has none, though one was asked for
)

// containerName is the same for one identity everywhere, so that the daemon itself
// refuses the second of two creations.
func containerName(id sandbox.Identity) string { return "hermes-" + id.Key() }

func labels(id sandbox.Identity, spec sandbox.Spec, build string) (map[string]string, error) {
	all := id.Labels()
	for name, value := range map[string]any{labelIdentity: id, labelSpec: spec.Public()} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		all[name] = string(text)
	}
	all[labelHash], all[labelBuild] = spec.Hash(), build
	return all, nil
}

// Find looks for an identity's sandbox.
func (e *Engine) Find(ctx context.Context, id sandbox.Identity) (sandbox.Info, error) {
	found, err := e.inspect(ctx, id.Normal())
	if err != nil {
		return sandbox.Info{}, err
	}
	return e.info(found.Config.Labels, found.State.Status, found.Created, found.State.FinishedAt)
}

// inspect returns an identity's container: the one of its name, or, if somebody has
// renamed it, the one of its labels.
func (e *Engine) inspect(ctx context.Context, id sandbox.Identity) (container.InspectResponse, error) {
	found, err := e.api.ContainerInspect(ctx, containerName(id), client.ContainerInspectOptions{})
	if isNotFound(err) {
		return e.inspectByLabels(ctx, id)
	}
	if err != nil {
		return container.InspectResponse{}, explain(err)
	}
	if c := found.Container; !isOf(c.Config.Labels, id) {
		return c, fmt.Errorf("the container %s is not a sandbox of this home, but has the name of one: rename or remove it", strings.TrimPrefix(c.Name, "/"))
	}
	return e.present(id, found.Container)
}

// present is a container, unless it is about to be gone.
func (e *Engine) present(id sandbox.Identity, c container.InspectResponse) (container.InspectResponse, error) {
	e.remember(id, c)
	if leaves(c) {
		return container.InspectResponse{}, sandbox.ErrNotFound
	}
	return c, nil
}

func (e *Engine) inspectByLabels(ctx context.Context, id sandbox.Identity) (container.InspectResponse, error) {
	all, err := e.list(ctx, id.Labels())
	if err != nil {
		return container.InspectResponse{}, err
	}
	var ours []container.Summary
	for _, c := range all {
		if isOf(c.Labels, id) {
			ours = append(ours, c)
		}
	}
	switch len(ours) {
	case 0:
		return container.InspectResponse{}, sandbox.ErrNotFound
	case 1:
		found, err := e.api.ContainerInspect(ctx, ours[0].ID, client.ContainerInspectOptions{})
		if isNotFound(err) {
			return container.InspectResponse{}, sandbox.ErrNotFound
		}
		if err != nil {
			return container.InspectResponse{}, explain(err)
		}
		return e.present(id, found.Container)
	}
	return container.InspectResponse{}, fmt.Errorf("the sandbox %q has %d containers (%s and others): remove all but one", id.Task, len(ours), ours[0].ID[:12])
}

// list returns the containers that have these labels, whatever their state.
func (e *Engine) list(ctx context.Context, labels map[string]string) ([]container.Summary, error) {
	filters := client.Filters{}
	for name, value := range labels {
		filters.Add("label", name+"="+value)
	}
	all, err := e.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filters})
	if err != nil {
		return nil, explain(err)
	}
	return all.Items, nil
}

// isOf says whether a container with these labels is the identity's sandbox.
func isOf(labels map[string]string, id sandbox.Identity) bool {
	var theirs sandbox.Identity
	return json.Unmarshal([]byte(labels[labelIdentity]), &theirs) == nil && theirs == id
}

// List returns all sandboxes of a home.
func (e *Engine) List(ctx context.Context, home string) ([]sandbox.Info, error) {
	ofHome := maps.Clone(sandbox.Identity{Home: home}.Labels())
	delete(ofHome, "hermes-task-id")
	delete(ofHome, "hermes-profile")
	all, err := e.list(ctx, ofHome)
	if err != nil {
		return nil, err
	}
	infos := make([]sandbox.Info, 0, len(all))
	for _, c := range all {
		ended := ""
		if state(c.State) == sandbox.Stopped {
			found, err := e.api.ContainerInspect(ctx, c.ID, client.ContainerInspectOptions{})
			if err != nil && !isNotFound(err) {
				return nil, explain(err)
			}
			if err != nil || leaves(found.Container) {
				continue // it was removed meanwhile
			}
			ended = found.Container.State.FinishedAt
		}
		info, err := e.info(c.Labels, c.State, time.Unix(c.Created, 0).UTC().Format(time.RFC3339), ended)
		if err == nil && info.Identity.Home == home {
			infos = append(infos, info)
		}
	}
	return infos, nil
}

// info is what a container says of its sandbox.
func (e *Engine) info(labels map[string]string, status container.ContainerState, created, ended string) (sandbox.Info, error) {
	info := sandbox.Info{Engine: e.Name(), State: state(status), SpecHash: labels[labelHash], Build: labels[labelBuild]}
	err := json.Unmarshal([]byte(labels[labelIdentity]), &info.Identity)
	if err == nil {
		err = json.Unmarshal([]byte(labels[labelSpec]), &info.Spec)
	}
	if err != nil {
		return info, fmt.Errorf("cannot read the labels of a container of ours: %w; remove it", err)
	}
	info.Created = instant(created)
	if info.State == sandbox.Stopped {
		info.Ended = instant(ended)
	}
	return info, nil
}

// instant reads a time of the daemon's; the zero time stands for none, as it does there.
func instant(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() <= 1 {
		return time.Time{}
	}
	return t
}

// state is what a container's state means for its sandbox.
func state(s container.ContainerState) sandbox.State {
	switch s {
	case container.StateRunning:
		return sandbox.Running
	case container.StatePaused:
		return sandbox.Paused
	}
	return sandbox.Stopped
}
