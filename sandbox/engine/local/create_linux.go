package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"hermes.example/hermes/internal/guest/jail"
	"hermes.example/hermes/internal/guest/spawn"
	"hermes.example/hermes/internal/rmtree"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/internal/host"
)

// setupBound is how long a guest may take to set itself up.
const setupBound = 30 * time.Second

// scratchName is the directory of what an ephemeral sandbox has instead of kept files.
// It goes with its guest.
const scratchName = "scratch"

// creation is a sandbox in the making. Every step adds to it; undo takes back
// what was done, and hand-over makes undo do nothing.
//
// A creator that is killed leaves no guest, because the guest ends when the setup
// conversation does, and leaves at most a run directory, which the next Create or
// Sweep of the identity removes.
type creation struct {
	engine *Engine
	id     sandbox.Identity
	spec   sandbox.Spec
	user   commandUser
	dir    string
	madeIt bool // dir did not exist before

	listener *net.UnixListener
	outer    *jail.Outer
	guest    *spawn.Process
	state    host.State
	done     bool
}

func (e *Engine) create(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (*host.State, error) {
	c := &creation{engine: e, id: id, spec: spec, dir: e.options.files().Of(id)}
	defer c.undo()
	for _, step := range []func(context.Context) error{c.check, c.listen, c.startGuest, c.makeDirs, c.configure, c.recordState, c.handOver} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return &c.state, nil
}

// check refuses what there can be only with a root or a network of its own.
func (c *creation) check(context.Context) (err error) {
	switch {
	case c.spec.Image != "":
		return fmt.Errorf("a local sandbox has no image: it runs this machine's own programs; use the native engine for %q", c.spec.Image)
	case len(c.spec.Mounts) > 0:
		m := c.spec.Mounts[0]
		return fmt.Errorf("a local sandbox has no mounts: commands find %s where it is, so run them there (--cwd), or use the native engine", m.Source)
	case c.spec.Network != sandbox.NetworkHost:
		return fmt.Errorf("a local sandbox has this machine's network: ask for %q, or use the native engine for %q", sandbox.NetworkHost, c.spec.Network)
	}
	if l := c.spec.Limits; l.Disk > 0 || l.SharedMemory > 0 {
		return errors.New("a local sandbox has no limit of disk or shared memory: leave them out, or use the docker engine")
	}
	c.user, err = userOf(c.spec)
	return err
}

func (c *creation) listen(context.Context) (err error) {
	c.listener, err = c.engine.Listen(c.id)
	return err
}

func (c *creation) startGuest(context.Context) error {
	path, err := c.engine.GuestPath()
	if err != nil {
		return err
	}
	var inner *os.File
	if c.outer, inner, err = jail.SocketPair(); err != nil {
		return err
	}
	defer inner.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	// Nothing of our environment goes along: it may hold secrets.
	guest, err := spawn.Start(&spawn.Command{
		Path: path, Argv: guestArguments(c.engine.RunName(c.id)), Env: []string{"GOMAXPROCS=2", "GOGC=50"}, Dir: "/", Cgroup: -1,
		Files: map[int]int{0: int(null.Fd()), 1: int(null.Fd()), 2: int(null.Fd()), 3: int(inner.Fd())},
	})
	if err != nil {
		return fmt.Errorf("cannot start its guest: %w", err)
	}
	c.guest = &guest
	return nil
}

// makeDirs makes the directories of the sandbox. The guest's own stays closed to the
// user whom commands run as, if that is another one.
func (c *creation) makeDirs(context.Context) error {
	_, err := os.Stat(c.dir)
	c.madeIt = errors.Is(err, os.ErrNotExist)
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fmt.Errorf("cannot make its directory: %w", err)
	}
	if err := makeDir(filepath.Join(c.dir, host.SpoolName)); err != nil {
		return err
	}
	if c.spec.Ephemeral {
		// One whose guest was killed may have left its own.
		if err := rmtree.Remove(filepath.Join(c.dir, scratchName)); err != nil {
			return err
		}
		if err := makeDir(filepath.Join(c.dir, scratchName)); err != nil {
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
	ours := []string{c.ownDir(), c.dir, filepath.Dir(c.dir)}
	if root := filepath.Dir(filepath.Dir(c.dir)); root == filepath.Join(c.id.Home, "sandboxes") {
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
	if c.spec.Ephemeral {
		return filepath.Join(c.dir, scratchName)
	}
	return c.dir
}

// configure describes the sandbox to its guest and takes the guest's report.
func (c *creation) configure(ctx context.Context) error {
	listener, err := c.listener.File()
	if err != nil {
		return err
	}
	defer listener.Close()
	spool, err := host.HoldSpool(ctx, c.dir)
	if err != nil {
		return err
	}
	defer spool.Close()
	config := c.describe()
	config.Descriptors = []string{jail.ListenerFD, jail.SpoolFD}
	c.outer.Conn().SetDeadline(time.Now().Add(setupBound))
	report, err := c.outer.Configure(config, []*os.File{listener, spool})
	if err != nil {
		return err
	}
	c.state.Posture = c.posture(report)
	return c.state.Posture.CheckSetUp(c.spec.Require)
}

// recordState writes down what was made. From here on others can find it.
func (c *creation) recordState(context.Context) error {
	c.state.Identity, c.state.Spec, c.state.SpecHash = c.id, c.spec.Public(), c.spec.Hash()
	c.state.Created, c.state.Build = time.Now().UTC(), c.engine.Build()
	if err := c.state.Describe(c.guest.PID); err != nil {
		return err
	}
	return c.state.Write(c.dir)
}

func (c *creation) handOver(context.Context) error {
	if err := c.outer.Keep(); err != nil {
		return err
	}
	c.done = true
	// The guest outlives us; while we live it is our child and must be reaped.
	go c.guest.Wait()
	return nil
}

func (c *creation) undo() {
	if c.listener != nil {
		c.listener.Close()
	}
	if c.done {
		return
	}
	if c.outer != nil {
		c.outer.Close()
	}
	if c.guest != nil {
		c.guest.Kill()
		c.guest.Wait()
	}
	if c.listener != nil {
		os.RemoveAll(c.engine.RunDir(c.id))
	}
	if c.madeIt {
		os.RemoveAll(c.dir) // nothing was in it: no command ever ran
	}
}
