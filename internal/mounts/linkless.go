package mounts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/rundir"
)

// copiesOf is where the copies of a home's skills are: among the files of sandboxes,
// of which nothing may be mounted writable, and which several homes may share.
func copiesOf(c config.Config) string {
	return filepath.Join(c.SandboxRoot, "skills", digest(resolve(c.Home)))
}

// withoutLinks returns what to mount in place of directories so that no symbolic
// link is seen: each one itself, or a copy of it.
//
// A copy is always brought up to date in its place, and used for as long as it is
// there even if the last link has gone: sandboxes have it mounted, and see the
// changes at once. The copy of a directory that is no longer asked for is removed.
// What could not be copied is skipped.
func (h *Host) withoutLinks(ctx context.Context, dirs []string) (shown []string, skipped []error, err error) {
	copies := copiesOf(h.config)
	var names []string
	shown = slices.Clone(dirs)
	for i, dir := range dirs {
		name := digest(dir)
		if hasLinks(dir) || exists(filepath.Join(copies, name)) {
			shown[i] = filepath.Join(copies, name)
			names = append(names, name)
		}
	}
	if len(names) == 0 && !exists(copies) {
		return shown, nil, nil
	}
	lock, err := rundir.Acquire(ctx, filepath.Join(h.run, digest(copies)+".skills.lock"))
	if err != nil {
		return nil, nil, err
	}
	defer lock.Release(true)
	if err := os.MkdirAll(copies, 0o700); err != nil {
		return nil, nil, err
	}
	root, err := os.OpenRoot(copies)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	if err := removeOthers(root, ".", names); err != nil {
		return nil, nil, err
	}
	for i, dir := range dirs {
		if shown[i] == dir {
			continue
		}
		failures, err := mirror(dir, root, filepath.Base(shown[i]))
		if err != nil {
			return nil, nil, err
		}
		skipped = append(skipped, failures...)
	}
	return shown, skipped, nil
}

// Forget removes the copies of skills, which no sandbox has mounted any more.
func Forget(c config.Config) error {
	copies := copiesOf(c)
	if err := os.RemoveAll(copies); err != nil {
		return err
	}
	// These two go only when they are empty.
	os.Remove(filepath.Dir(copies))
	if c.SandboxRoot == filepath.Join(c.Home, "sandboxes") {
		os.Remove(c.SandboxRoot)
	}
	return nil
}

func hasLinks(dir string) bool {
	found := errors.New("found")
	return filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type()&fs.ModeSymlink != 0 {
			return found
		}
		return nil // what cannot be read here cannot be read inside either
	}) == found
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}
