package docker

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/contained"
	"hermes.example/hermes/internal/rundir"
)

// labelChore marks containers that are made for a moment, to reach through the daemon
// what is mounted in them. Its value names the lock that their maker holds meanwhile: who
// finds one without that sweeps it.
const labelChore = "hermes-chore"

const chorePrefix = "chore-"

// chore makes a container for as long as do takes.
func (e *Engine) chore(ctx context.Context, config container.Config, host container.HostConfig, do func(id string) error) error {
	name := chorePrefix + strings.ToLower(rand.Text())
	lock, err := rundir.Acquire(ctx, filepath.Join(e.run, lockName(name)))
	if err != nil {
		return err
	}
	defer lock.Release(true)
	config.Entrypoint = []string{contained.Program}
	config.Labels = map[string]string{labelChore: name, labelRun: e.runLabel(), "hermes-agent": "1"}
	host.NetworkMode, host.CapDrop = "none", []string{"ALL"}
	made, err := e.api.ContainerCreate(ctx, client.ContainerCreateOptions{Config: &config, HostConfig: &host})
	if err != nil {
		return explain(err)
	}
	defer e.discard(ctx, made.ID)
	return do(made.ID)
}

// withUnstarted is a chore that needs nothing to run.
func (e *Engine) withUnstarted(ctx context.Context, image string, mounts []mount.Mount, do func(id string) error) error {
	return e.chore(ctx, container.Config{Image: image}, container.HostConfig{Mounts: mounts}, do)
}

// sweepChore removes the container of a chore whose maker died. One that still runs ends
// by itself.
func (e *Engine) sweepChore(ctx context.Context, c container.Summary) (bool, error) {
	name := c.Labels[labelChore]
	if !isChore(name) {
		return false, nil // a label that somebody else wrote
	}
	return e.unattended(ctx, lockName(name), func() (bool, error) {
		if c.State == container.StateRunning {
			return false, nil
		}
		err := e.end(ctx, c.ID, false)
		return err == nil, err
	})
}

// isChore says whether a name is one that chore gives, and so leads to a lock of ours.
func isChore(name string) bool {
	key, ours := strings.CutPrefix(name, chorePrefix)
	return ours && key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz234567") == ""
}
