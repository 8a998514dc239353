package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/volume"
	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/contained"
	"hermes.example/hermes/sandbox"
)

// A daemon may run on another machine, in a virtual one, or beside a container that we
// run in. What we name is not there then, or is something else of the same name. So it
// is asked for a directory whose name is fresh, and believed only if it knows it.

// errUnseen means that the daemon does not see our files.
var errUnseen = errors.New("the daemon does not see this machine's files")

// labelKept marks a volume in which a sandbox keeps files, and says which.
const labelKept = "hermes-keeps"

// isUnseen says whether the daemon refused to make a container because of our door.
func (m *making) isUnseen(err error) bool {
	return m.door != "" && errdefs.IsInvalidArgument(err) && strings.Contains(err.Error(), m.door)
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
	if m.engine.options.Name == "podman" {
		if err := m.engine.findFile(ctx, m.image.ID, m.door); err != nil {
			return "", err
		}
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
	before, err := m.engine.keptVolumes(ctx, m.id)
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

// makeVolumes makes those in which the sandbox keeps its files, or finds them.
func (m *making) makeVolumes(ctx context.Context) error {
	identity, err := json.Marshal(m.id)
	if err != nil {
		return err
	}
	for _, k := range m.kept() {
		labels := maps.Clone(m.id.Labels())
		labels[labelIdentity], labels[labelKept] = string(identity), k.name
		name := containerName(m.id) + "-" + k.name
		made, err := m.engine.api.VolumeCreate(ctx, client.VolumeCreateOptions{Name: name, Labels: labels})
		if err != nil {
			return fmt.Errorf("cannot make its volume %s: %w", name, explain(err))
		}
		if !isOf(made.Volume.Labels, m.id) {
			return fmt.Errorf("the volume %s is not of this sandbox, but has the name of one of its own: remove it", name)
		}
		m.own = append(m.own, mount.Mount{Type: mount.TypeVolume, Source: name, Target: k.target, VolumeOptions: &mount.VolumeOptions{NoCopy: true}})
	}
	return nil
}

// keptVolumes are those in which an identity's sandbox keeps files, be it still there or
// removed.
func (e *Engine) keptVolumes(ctx context.Context, id sandbox.Identity) ([]volume.Volume, error) {
	filters := client.Filters{}
	filters.Add("label", labelKept)
	all, err := e.api.VolumeList(ctx, client.VolumeListOptions{Filters: filters})
	if err != nil {
		return nil, explain(err)
	}
	var ours []volume.Volume
	for _, v := range all.Items {
		if isOf(v.Labels, id) {
			ours = append(ours, v)
		}
	}
	return ours, nil
}

// removeVolumes removes what an identity's sandbox keeps in volumes.
func (e *Engine) removeVolumes(ctx context.Context, id sandbox.Identity) error {
	all, err := e.keptVolumes(ctx, id)
	for _, v := range all {
		if _, failed := e.api.VolumeRemove(ctx, v.Name, client.VolumeRemoveOptions{}); failed != nil && !isNotFound(failed) {
			err = errors.Join(err, fmt.Errorf("cannot remove the volume %s: %w", v.Name, explain(failed)))
		}
	}
	return err
}

// findFile looks for a file of ours through the daemon's eyes. It makes nothing there:
// what is bound is the root, which every machine has, of a container that never starts.
func (e *Engine) findFile(ctx context.Context, image, dir string) error {
	token := filepath.Join(dir, "here")
	if err := os.WriteFile(token, nil, 0o600); err != nil {
		return err
	}
	defer os.Remove(token)
	const root = contained.Root + "/caller"
	return e.withUnstarted(ctx, image, []mount.Mount{bind("/", root, true)}, func(id string) error {
		_, err := e.api.ContainerStatPath(ctx, id, client.ContainerStatPathOptions{Path: root + filepath.ToSlash(token)})
		if isNotFound(err) {
			return errUnseen
		}
		if err != nil {
			return explain(err)
		}
		return nil
	})
}

// give makes the roots of mounts the sandbox's user's, through a container that never
// starts: that needs no right on the daemon's machine, nor in the sandbox.
func (e *Engine) give(ctx context.Context, image string, mounts []mount.Mount, spec sandbox.Spec) error {
	uid, gid := 0, 0
	if spec.User != "" {
		var err error
		if uid, gid, err = spec.UserIDs(); err != nil {
			return err
		}
	}
	const above = contained.Root + "/given"
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	var moved []mount.Mount
	for _, m := range mounts {
		name := path.Base(m.Target)
		m.Target = path.Join(above, name)
		moved = append(moved, m)
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o711, Uid: uid, Gid: gid}); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	err := e.withUnstarted(ctx, image, moved, func(id string) error {
		_, err := e.api.CopyToContainer(ctx, id, client.CopyToContainerOptions{DestinationPath: above, Content: io.Reader(&archive)})
		if err != nil {
			return explain(err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot give its directories to user %d: %w", uid, err)
	}
	return nil
}
