package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hermes.example/hermes/internal/guest/spawn"
	"hermes.example/hermes/internal/rmtree"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/internal/host"
)

// scratchName is the directory of what an ephemeral sandbox has instead of kept files.
// It goes with its guest.
const scratchName = "scratch"

// creation is a local sandbox in the making.
type creation struct {
	host.Making
	engine *Engine
	user   commandUser
}

func (e *Engine) create(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (*host.State, error) {
	c := &creation{Making: e.NewMaking(id, spec), engine: e}
	return c.Make(ctx, c.check, c.Listen, c.startGuest, c.makeDirs, c.configure, c.RecordState, c.HandOver)
}

// check refuses what there can be only with a root or a network of its own.
func (c *creation) check(context.Context) (err error) {
	switch {
	case c.Spec.Image != "":
		return fmt.Errorf("a local sandbox has no image: it runs this machine's own programs; use the native engine for %q", c.Spec.Image)
	case len(c.Spec.Mounts) > 0:
		m := c.Spec.Mounts[0]
		return fmt.Errorf("a local sandbox has no mounts: commands find %s where it is, so run them there (--cwd), or use the native engine", m.Source)
	case c.Spec.Network != sandbox.NetworkHost:
		return fmt.Errorf("a local sandbox has this machine's network: ask for %q, or use the native engine for %q", sandbox.NetworkHost, c.Spec.Network)
	}
	if l := c.Spec.Limits; l.Disk > 0 || l.SharedMemory > 0 {
		return errors.New("a local sandbox has no limit of disk or shared memory: leave them out, or use the docker engine")
	}
	c.user, err = userOf(c.Spec)
	return err
}

func (c *creation) startGuest(context.Context) error {
	return c.StartGuest(nil, spawn.Command{Argv: guestArguments(c.engine.RunName(c.ID))}, func(err error) error {
		return fmt.Errorf("cannot start its guest: %w", err)
	})
}

// makeDirs makes the directories of the sandbox. The guest's own stays closed to the
// user whom commands run as, if that is another one.
func (c *creation) makeDirs(context.Context) error {
	if err := c.MakeDir(); err != nil {
		return err
	}
	if err := makeDir(filepath.Join(c.Dir, host.SpoolName)); err != nil {
		return err
	}
	if c.Spec.Ephemeral {
		// One whose guest was killed may have left its own.
		if err := rmtree.Remove(filepath.Join(c.Dir, scratchName)); err != nil {
			return err
		}
		if err := makeDir(filepath.Join(c.Dir, scratchName)); err != nil {
			return err
		}
	}
	for _, dir := range []string{c.home(), c.workspace()} {
		if err := makeDir(dir); err != nil {
			return err
		}
		if err := c.user.give(dir); err != nil {
			return err
		}
	}
	ours := []string{c.ownDir(), c.Dir, filepath.Dir(c.Dir)}
	if root := filepath.Dir(filepath.Dir(c.Dir)); root == filepath.Join(c.ID.Home, "sandboxes") {
		ours = append(ours, root)
	}
	return c.user.reach(c.home(), ours...)
}

func makeDir(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("cannot make its directory: %w", err)
	}
	return nil
}

func (c *creation) home() string      { return filepath.Join(c.ownDir(), "home") }
func (c *creation) workspace() string { return filepath.Join(c.ownDir(), "workspace") }

// ownDir is where home and workspace are.
func (c *creation) ownDir() string {
	if c.Spec.Ephemeral {
		return filepath.Join(c.Dir, scratchName)
	}
	return c.Dir
}

func (c *creation) configure(ctx context.Context) error {
	c.describe()
	if err := c.GiveDoor(ctx); err != nil {
		return err
	}
	report, err := c.Configure(ctx, host.SetupBound)
	if err != nil {
		return err
	}
	return c.Judge(c.posture(report))
}
