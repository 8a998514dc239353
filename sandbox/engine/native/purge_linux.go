package native

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/sandbox"
)

// Keeps says whether anything is left of an identity's sandbox.
func (e *Engine) Keeps(_ context.Context, id sandbox.Identity) (bool, error) {
	_, err := os.Stat(e.options.dir(id.Normal()))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Purge removes what is left of the sandboxes of a home that no longer exist:
// kept files, locks, and, when no sandbox runs at all, the extracted guest.
func (e *Engine) Purge(ctx context.Context, home string) (int, error) {
	making, err := e.underWay()
	if err != nil {
		return 0, err
	}
	root := e.options.rootOf(home)
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("cannot look for kept files: %w", err)
	}
	removed := 0
	for _, entry := range entries {
		dir := filepath.Join(root, entry.Name())
		st, err := readState(filepath.Join(dir, stateName))
		id, runs := making[dir]
		if runs && st == nil && !errors.Is(err, fs.ErrNotExist) {
			// Its state was spoilt, so nobody could remove it.
			if err := e.Remove(ctx, id, true); err != nil {
				return removed, err
			}
			removed++
			continue
		}
		if st != nil || runs {
			continue // it exists, perhaps in another home with the same root
		}
		// Nothing says any more which ids it had; a caller has the same ones for
		// all sandboxes, and root needs none.
		ids, err := e.planIDs(sandbox.Identity{Home: home, Task: entry.Name()})
		if err != nil {
			return removed, err
		}
		if err := e.removeTree(ctx, &state{IDs: ids}, dir); err != nil {
			return removed, fmt.Errorf("cannot remove kept files: %w", err)
		}
		removed++
	}
	// These two go only when they are empty.
	os.Remove(root)
	if filepath.Dir(root) == filepath.Join(home, "sandboxes") {
		os.Remove(filepath.Dir(root))
	}
	return removed, e.purgeRun(ctx)
}

// underWay lists the directories of sandboxes that have a run directory.
func (e *Engine) underWay() (map[string]sandbox.Identity, error) {
	entries, err := os.ReadDir(e.run)
	if err != nil {
		return nil, err
	}
	dirs := make(map[string]sandbox.Identity)
	for _, entry := range entries {
		if id, err := e.ownerOf(entry.Name()); err == nil {
			dirs[e.options.dir(id)] = id
		}
	}
	return dirs, nil
}

// purgeRun removes locks that nobody holds or needs, guests of other versions,
// which run on without their file, and ours when no sandbox runs at all.
func (e *Engine) purgeRun(ctx context.Context) error {
	entries, err := os.ReadDir(e.run)
	if err != nil {
		return err
	}
	running := false
	for _, entry := range entries {
		running = running || entry.IsDir()
	}
	for _, entry := range entries {
		path := filepath.Join(e.run, entry.Name())
		key, isLock := strings.CutSuffix(entry.Name(), ".lock")
		switch {
		case isLock:
			if _, err := os.Lstat(filepath.Join(e.run, key)); err == nil {
				continue
			}
			removeLock(ctx, path)
		case strings.HasPrefix(entry.Name(), "guest-") && (!running || entry.Name() != "guest-"+e.build),
			strings.HasPrefix(entry.Name(), ".guest-") && !running:
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	os.Remove(e.run) // only when it is empty
	return nil
}

// removeLock removes a lock's file, unless somebody holds it.
func removeLock(ctx context.Context, path string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if lock, err := rundir.Acquire(ctx, path); err == nil {
		lock.Release(true)
	}
}
