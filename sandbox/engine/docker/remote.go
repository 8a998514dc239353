package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/contained"
	"hermes.example/hermes/sandbox"
)

// A daemon may run on another machine, in a virtual one, or beside a container that we
// run in. What we name is not there then, or is something else of the same name. So it
// is asked for a directory whose name is fresh, and believed only if it knows it.

// errUnseen means that the daemon does not see our files.
var errUnseen = errors.New("the daemon does not see this machine's files")

// isUnseen says whether the daemon refused to make a container because of a directory
// that we have just made.
func (m *making) isUnseen(err error) bool {
	return errdefs.IsInvalidArgument(err) && slices.ContainsFunc(m.own, func(own mount.Mount) bool {
		return own.Type == mount.TypeBind && strings.Contains(err.Error(), own.Source)
	})
}

// createNear makes the container with directories of ours. Podman makes those that it
// does not see, which nobody would find again, and is asked beforehand.
func (m *making) createNear(ctx context.Context) (string, error) {
	m.door = m.newDoor()
	if err := m.makeDirs(); err != nil {
		return "", err
	}
	if err := m.checkPlaces(); err != nil {
		return "", err
	}
	if m.engine.isPodman() && !m.engine.near.Load() {
		if err := m.engine.findOurs(ctx, m.image.ID, m.own); err != nil {
			return "", err
		}
		m.engine.near.Store(true)
	}
	made, err := m.create(ctx)
	if err == nil && len(m.foreign) > 0 {
		if err = m.engine.give(ctx, m.image.ID, m.foreign, m.spec); err != nil {
			m.engine.discard(ctx, made)
		}
	}
	return made, err
}

// createFar makes the container with volumes of the daemon's. All that we share with its
// guest is the key.
func (m *making) createFar(ctx context.Context) (string, error) {
	m.forgetDirs()
	m.door, m.own, m.foreign = "", nil, nil
	if err := m.leaveOutMounts(); err != nil {
		return "", err
	}
	// Where the key is kept.
	dir := m.engine.dir(m.id)
	if m.spec.Ephemeral {
		dir = m.engine.runDir(m.id)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("cannot make its directory: %w", err)
	}
	before, err := m.engine.keptVolumes(ctx, only(m.id))
	if err != nil {
		return "", err
	}
	m.anew = len(before) == 0
	if err := m.makeVolumes(ctx); err != nil {
		return "", err
	}
	if len(m.own) > len(before) || len(m.own) > 0 && m.spec.User != "" {
		if err := m.engine.give(ctx, m.image.ID, m.own, m.spec); err != nil {
			return "", err
		}
	}
	return m.create(ctx)
}

// leaveOutMounts refuses what a person asked for and the daemon cannot mount. Files of
// the profile, which every sandbox has, do not stop it.
func (m *making) leaveOutMounts() error {
	var rest []string
	for _, b := range m.spec.Mounts {
		if b.Origin != sandbox.ByProfile {
			return fmt.Errorf("cannot mount %s: %w (%s); copy it in with \"hermes sandbox cp\", or mount a volume that exists there", b.Source, errUnseen, m.engine.api.DaemonHost())
		}
		rest = append(rest, b.Target)
	}
	if len(rest) > 0 {
		m.engine.options.Warn(fmt.Sprintf("the sandbox %q goes without %s: %v", m.id.Task, strings.Join(rest, ", "), errUnseen))
	}
	m.far = true
	return nil
}

// findOurs looks for directories of ours through the daemon's eyes, by files that are
// fresh. It makes nothing there: what is bound is the root, which every machine has, of
// a container that never starts.
func (e *Engine) findOurs(ctx context.Context, image string, ours []mount.Mount) error {
	const root = contained.Root + "/caller"
	return e.withUnstarted(ctx, image, []mount.Mount{bind("/", root, true)}, func(id string) error {
		for _, own := range ours {
			token := filepath.Join(filepath.Dir(own.Source), "here-"+rand.Text())
			if err := os.WriteFile(token, nil, 0o600); err != nil {
				return err
			}
			_, err := e.api.ContainerStatPath(ctx, id, client.ContainerStatPathOptions{Path: root + filepath.ToSlash(token)})
			os.Remove(token)
			if isNotFound(err) {
				return errUnseen
			}
			if err != nil {
				return explain(err)
			}
		}
		return nil
	})
}
