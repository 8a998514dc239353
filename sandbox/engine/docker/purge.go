package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
)

// Keeps says whether anything is left of an identity's sandbox.
func (e *Engine) Keeps(ctx context.Context, id sandbox.Identity) (bool, error) {
	id = id.Normal()
	_, err := os.Stat(e.dir(id))
	if errors.Is(err, fs.ErrNotExist) {
		volumes, err := e.keptVolumes(ctx, only(id))
		return len(volumes) > 0, err
	}
	return err == nil, err
}

// Purge removes the files of sandboxes of a home that have no container any more, and
// programs of guests that no container uses.
func (e *Engine) Purge(ctx context.Context, home string) (int, error) {
	// Also those of the Hermes agent, which keeps files in the same place.
	all, err := e.list(ctx, map[string]string{"hermes-agent": "1"})
	if err != nil {
		return 0, err
	}
	making, err := e.underWay()
	if err != nil {
		return 0, err
	}
	root := e.dirs(home)
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("cannot look for kept files: %w", err)
	}
	removed := 0
	for _, entry := range entries {
		dir := filepath.Join(root, entry.Name())
		if making[dir] || isMounted(all, dir) {
			continue
		}
		if err := e.erase(ctx, dir, ""); err != nil {
			return removed, fmt.Errorf("cannot remove kept files: %w", err)
		}
		removed++
	}
	// These two go only when they are empty.
	os.Remove(root)
	if filepath.Dir(root) == filepath.Join(home, "sandboxes") {
		os.Remove(filepath.Dir(root))
	}
	more, err := e.purgeKept(ctx, home)
	return removed + more, errors.Join(err, e.purgeVolumes(ctx))
}

// purgeKept removes volumes in which sandboxes of a home kept files and that no
// container has, and returns of how many sandboxes.
func (e *Engine) purgeKept(ctx context.Context, home string) (int, error) {
	all, err := e.keptVolumes(ctx, func(id sandbox.Identity) bool { return id.Home == home })
	gone := make(map[string]bool)
	for _, v := range all {
		_, failed := e.api.VolumeRemove(ctx, v.Name, client.VolumeRemoveOptions{})
		switch {
		case failed == nil, isNotFound(failed):
			gone[v.Labels[labelIdentity]] = true
		case !errdefs.IsConflict(failed):
			err = errors.Join(err, explain(failed))
		}
	}
	return len(gone), err
}

// underWay lists the directories of sandboxes that have a run directory: a container may
// be about to be made for them.
func (e *Engine) underWay() (map[string]bool, error) {
	entries, err := os.ReadDir(e.run)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	dirs := make(map[string]bool)
	for _, entry := range entries {
		if _, ours := e.keyOf(entry.Name()); !ours {
			continue
		}
		if id, err := e.ownerOf(entry.Name()); err == nil {
			dirs[e.dir(id)] = true
		}
	}
	return dirs, nil
}

// isMounted says whether a container, in whatever state, has something of the directory.
func isMounted(all []container.Summary, dir string) bool {
	for _, c := range all {
		for _, m := range c.Mounts {
			if m.Source == dir || strings.HasPrefix(m.Source, dir+string(filepath.Separator)) {
				return true
			}
		}
	}
	return false
}

// purgeVolumes removes the guests' programs that are in nobody's use; the daemon knows.
func (e *Engine) purgeVolumes(ctx context.Context) error {
	all, err := e.api.VolumeList(ctx, client.VolumeListOptions{Filters: make(client.Filters).Add("name", volumePrefix)})
	if err != nil {
		return explain(err)
	}
	for _, v := range all.Items {
		build, ours := strings.CutPrefix(v.Name, volumePrefix)
		if !ours {
			continue // the daemon finds it anywhere in a name
		}
		_, err := e.api.VolumeRemove(ctx, v.Name, client.VolumeRemoveOptions{})
		switch {
		case err == nil, isNotFound(err), errdefs.IsConflict(err):
			// Where somebody else uses it, what we remember of it goes all the same: it is ours.
			os.Remove(e.stamp(build))
		default:
			return explain(err)
		}
	}
	return nil
}
