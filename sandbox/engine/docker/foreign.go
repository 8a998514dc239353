package docker

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"

	"hermes.example/hermes/sandbox"
)

// The Hermes agent's own containers bear the same labels for task and profile, and none
// for the home: nobody can say for certain whose they are. They have no guest, so they
// are listed and, if somebody asks for it, removed. Nothing else is ever done to them.

// isForeign says whether the Hermes agent made a container, and perhaps for this home:
// of one that keeps files the place of these tells.
func (e *Engine) isForeign(c container.Summary, home string) bool {
	_, ours := c.Labels[labelIdentity]
	_, chore := c.Labels[labelChore]
	if ours || chore || c.Labels["hermes-agent"] != "1" || c.Labels["hermes-task-id"] == "" || c.Labels["hermes-home"] != "" {
		return false
	}
	for _, m := range c.Mounts {
		if m.Destination == sandbox.Home && !strings.HasPrefix(m.Source, e.dirs(home)+string(filepath.Separator)) {
			return false
		}
	}
	return true
}

// foreignInfo is what a container says that has no guest.
func (e *Engine) foreignInfo(c container.Summary, home string) sandbox.Info {
	return sandbox.Info{
		Identity: sandbox.Identity{Home: home, Profile: c.Labels["hermes-profile"], Task: c.Labels["hermes-task-id"]}.Normal(),
		Engine:   e.Name(), State: state(c.State), Created: time.Unix(c.Created, 0).UTC(), Foreign: true,
		Spec: sandbox.Spec{Image: c.Image},
	}
}

// RemoveForeign removes the Hermes agent's container of a task and profile, and says
// whether there was one. Of several it removes none: they may belong to other homes.
func (e *Engine) RemoveForeign(ctx context.Context, id sandbox.Identity) (bool, error) {
	id = id.Normal()
	all, err := e.list(ctx, map[string]string{"hermes-agent": "1"})
	if err != nil {
		return false, err
	}
	var theirs []string
	var found container.Summary
	for _, c := range all {
		if e.isForeign(c, id.Home) && e.foreignInfo(c, id.Home).Identity == id {
			found = c
			theirs = append(theirs, strings.TrimPrefix(strings.Join(c.Names, " "), "/"))
		}
	}
	switch len(theirs) {
	case 0:
		return false, nil
	case 1:
		return true, e.end(ctx, found.ID, found.State == container.StateRunning)
	}
	return false, fmt.Errorf("the Hermes agent has %d containers of that name (%s), perhaps of several homes: remove the one that you mean with the engine's own command", len(theirs), strings.Join(theirs, ", "))
}
