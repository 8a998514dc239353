package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hermes.example/hermes/sandbox"
)

// Keeps says whether anything is left of an identity's sandbox.
func (c *Core) Keeps(_ context.Context, id sandbox.Identity) (bool, error) {
	_, err := os.Stat(c.files.Of(id.Normal()))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Purge removes what is left of the sandboxes of a home that no longer exist:
// kept files, locks, and, when no sandbox runs at all, the extracted guest.
func (c *Core) Purge(ctx context.Context, home string) (int, error) {
	making, err := c.underWay()
	if err != nil {
		return 0, err
	}
	root := c.files.In(home)
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("cannot look for kept files: %w", err)
	}
	removed := 0
	for _, entry := range entries {
		dir := filepath.Join(root, entry.Name())
		st, err := readState(dir)
		id, runs := making[dir]
		if runs && st == nil && !errors.Is(err, fs.ErrNotExist) {
			// Its state was spoilt, so nobody could remove it.
			if err := c.Remove(ctx, id, true); err != nil {
				return removed, err
			}
			removed++
			continue
		}
		if st != nil || runs {
			continue // it exists, perhaps in another home with the same root
		}
		if err := c.body.RemoveFiles(ctx, sandbox.Identity{Home: home, Task: entry.Name()}, nil, dir); err != nil {
			return removed, fmt.Errorf("cannot remove kept files: %w", err)
		}
		removed++
	}
	// These two go only when they are empty.
	os.Remove(root)
	if filepath.Dir(root) == filepath.Join(home, "sandboxes") {
		os.Remove(filepath.Dir(root))
	}
	return removed, c.purgeRun(ctx)
}

// underWay lists the directories of sandboxes that have a run directory.
func (c *Core) underWay() (map[string]sandbox.Identity, error) {
	entries, err := c.running()
	if err != nil {
		return nil, err
	}
	dirs := make(map[string]sandbox.Identity)
	for _, entry := range entries {
		if id, err := c.ownerOf(entry.Name()); err == nil {
			dirs[c.files.Of(id)] = id
		}
	}
	return dirs, nil
}

// purgeRun removes locks that nobody holds or needs, guests of other versions,
// which run on without their file, and ours when no sandbox runs at all.
func (c *Core) purgeRun(ctx context.Context) error {
	entries, err := c.running()
	if err != nil {
		return err
	}
	running := false
	for _, entry := range entries {
		running = running || entry.IsDir()
	}
	for _, entry := range entries {
		path := filepath.Join(c.run, entry.Name())
		key, isLock := strings.CutSuffix(entry.Name(), lockSuffix)
		switch {
		case isLock:
			if _, err := os.Lstat(filepath.Join(c.run, key)); err == nil {
				continue
			}
			removeLock(ctx, path)
		case strings.HasPrefix(entry.Name(), "guest-") && (!running || entry.Name() != "guest-"+c.build),
			strings.HasPrefix(entry.Name(), ".guest-") && !running:
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	os.Remove(c.run) // only when it is empty
	return nil
}
