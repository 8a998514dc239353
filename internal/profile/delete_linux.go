package profile

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rmtree"
	"hermes.example/hermes/internal/rooted"
)

// deleted is how the names of directories begin that are being removed. No profile has such a name.
const deleted = ".deleted-"

// Delete removes a profile with all its files. It is gone at once and whole; the removal of what it held may take
// longer, and what an interruption leaves of it is removed by Sweep. A link in its place is removed, and not what it
// leads to.
func (h *Home) Delete(name string) error {
	if name == Default {
		return fmt.Errorf("cannot delete the profile %q: it is the home itself", name)
	}
	if err := Check(name); err != nil {
		return err
	}
	err := h.below(directory, func(profiles int) error { return remove(profiles, name) })
	if gone(err) {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("cannot delete the profile %q: %w", name, err)
	}
	return nil
}

func remove(profiles int, name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(profiles, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFDIR && kind != unix.S_IFLNK {
		return ErrNotFound
	}
	unique, err := rooted.Temporary()
	if err != nil {
		return err
	}
	away := deleted + name + unique
	if err := unix.Renameat(profiles, name, profiles, away); err != nil {
		return err
	}
	if err := rmtree.RemoveAt(profiles, away, nil); err != nil {
		return fmt.Errorf("it is gone, but not all of its files could be removed from %s: %w", filepath.Join(directory, away), err)
	}
	return nil
}

// Sweep removes what deletions that were interrupted have left, until ctx ends. It does so in short pieces: the Hand is
// others' as well, and a tree may be large.
func (h *Home) Sweep(ctx context.Context) error {
	for {
		rest := false
		err := h.below(directory, func(profiles int) (err error) {
			end := time.Now().Add(piece)
			rest, err = sweep(profiles, func() bool { return time.Now().After(end) || ctx.Err() != nil })
			return err
		})
		if gone(err) {
			return nil
		}
		if err != nil || !rest || ctx.Err() != nil {
			return err
		}
	}
}

// piece is how long a sweep keeps others waiting.
const piece = 20 * time.Millisecond

// sweep removes what it can, and says whether it was stopped before it was through.
func sweep(profiles int, stop func() bool) (rest bool, err error) {
	names, err := entries(profiles)
	for _, name := range names {
		if !strings.HasPrefix(name, deleted) {
			continue
		}
		switch removal := rmtree.RemoveAt(profiles, name, stop); removal {
		case unix.ECANCELED:
			return true, err
		default:
			err = errors.Join(err, removal)
		}
	}
	return false, err
}
