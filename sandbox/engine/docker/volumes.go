package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/volume"
	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/contained"
	"hermes.example/hermes/sandbox"
)

// labelKept marks a volume in which a sandbox keeps files, and says which.
const labelKept = "hermes-keeps"

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

// keptVolumes are those in which sandboxes keep files, be they still there or removed.
func (e *Engine) keptVolumes(ctx context.Context, of func(sandbox.Identity) bool) ([]volume.Volume, error) {
	filters := client.Filters{}
	filters.Add("label", labelKept)
	all, err := e.api.VolumeList(ctx, client.VolumeListOptions{Filters: filters})
	if err != nil {
		return nil, explain(err)
	}
	return slices.DeleteFunc(all.Items, func(v volume.Volume) bool {
		var theirs sandbox.Identity
		return json.Unmarshal([]byte(v.Labels[labelIdentity]), &theirs) != nil || !of(theirs)
	}), nil
}

// only is true of one identity.
func only(id sandbox.Identity) func(sandbox.Identity) bool {
	return func(other sandbox.Identity) bool { return other == id }
}

// removeVolumes removes what an identity's sandbox keeps in volumes.
func (e *Engine) removeVolumes(ctx context.Context, id sandbox.Identity) error {
	all, err := e.keptVolumes(ctx, only(id))
	for _, v := range all {
		if _, failed := e.api.VolumeRemove(ctx, v.Name, client.VolumeRemoveOptions{}); failed != nil && !isNotFound(failed) {
			err = errors.Join(err, fmt.Errorf("cannot remove the volume %s: %w", v.Name, explain(failed)))
		}
	}
	return err
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
	var moved []mount.Mount
	for _, m := range mounts {
		m.Target = path.Join(above, path.Base(m.Target))
		moved = append(moved, m)
	}
	err := e.withUnstarted(ctx, image, moved, func(id string) error {
		for _, m := range moved {
			// Docker leaves the directory alone that an archive is unpacked in; Podman
			// unpacks into a mount only what is sent to it.
			to, name := above, path.Base(m.Target)+"/"
			if e.isPodman() {
				to, name = m.Target, "./"
			}
			if err := e.sendDir(ctx, id, to, tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o711, Uid: uid, Gid: gid}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot give its directories to user %d: %w", uid, err)
	}
	return nil
}

// sendDir makes a directory in a container, or makes one what the header says.
func (e *Engine) sendDir(ctx context.Context, container, to string, dir tar.Header) error {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := errors.Join(w.WriteHeader(&dir), w.Close()); err != nil {
		return err
	}
	if _, err := e.api.CopyToContainer(ctx, container, client.CopyToContainerOptions{DestinationPath: to, Content: &archive}); err != nil {
		return explain(err)
	}
	return nil
}
