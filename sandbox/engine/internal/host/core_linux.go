package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"

	"hermes.example/hermes/internal/programs"
	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/sandbox"
)

// Body is how one engine differs from another.
type Body interface {
	// Make makes a sandbox where nothing of an earlier run is left.
	Make(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (*State, error)
	// End ends a living guest and all that it started, and returns when that is so.
	End(ctx context.Context, g *Guest) error
	// EndUnknown ends a guest of which nothing is known but its socket, if there is
	// one.
	EndUnknown(ctx context.Context, id sandbox.Identity) error
	// ClearUp ends what a guest that died has left running.
	ClearUp(ctx context.Context, id sandbox.Identity) error
	// RemoveFiles removes the directory of a sandbox, with its state if it has one.
	RemoveFiles(ctx context.Context, id sandbox.Identity, st *State, dir string) error
}

// Core is the half of an engine that all engines of this machine share. It has every
// method of a sandbox.Engine but Capabilities.
type Core struct {
	files Files
	body  Body
	mark  string // what tells names in the run directory from those of other engines
	run   string
	build string
	known sync.Map // identity → its run directory
}

// New returns the core of an engine, or says why this machine cannot have one.
// The mark is part of the engine's names in the run directory, which engines share.
func New(f Files, mark string, b Body) (*Core, error) {
	run, err := rundir.Find()
	if err != nil {
		return nil, err
	}
	build, err := programs.Guest.Digest(runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	return &Core{files: f, body: b, mark: mark, run: run, build: build}, nil
}

// Name is the engine's.
func (c *Core) Name() string { return c.files.Engine }

// Build names the guest that new sandboxes get.
func (c *Core) Build() string { return c.build }

// GuestPath is the guest's program, which is there afterwards.
func (c *Core) GuestPath() (string, error) { return programs.Guest.Extract(c.run, runtime.GOARCH) }

// RunName is the name of a sandbox's run directory and of its cgroups.
func (c *Core) RunName(id sandbox.Identity) string { return id.Key() + c.mark }

// RunDir is where a sandbox has its socket while it runs.
func (c *Core) RunDir(id sandbox.Identity) string { return filepath.Join(c.run, c.RunName(id)) }

// Create makes the sandbox of an identity that has none.
func (c *Core) Create(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	id = id.Normal()
	old, err := c.load(id)
	if err == nil && old.alive() {
		return sandbox.Info{}, sandbox.ErrExists
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return sandbox.Info{}, err
	}
	if err := c.clear(ctx, id); err != nil {
		return sandbox.Info{}, cannotStart(id, err)
	}
	st, err := c.body.Make(ctx, id, spec.Normal())
	if err != nil {
		return sandbox.Info{}, cannotStart(id, err)
	}
	return c.info(st), nil
}

func cannotStart(id sandbox.Identity, err error) error {
	return fmt.Errorf("cannot start sandbox %q: %w", id.Task, err)
}

// Start makes a new guest around the files that a sandbox kept.
func (c *Core) Start(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	return c.Create(ctx, id, spec)
}

// Find looks for an identity's sandbox.
func (c *Core) Find(_ context.Context, id sandbox.Identity) (sandbox.Info, error) {
	st, err := c.load(id.Normal())
	if errors.Is(err, fs.ErrNotExist) {
		return sandbox.Info{}, sandbox.ErrNotFound
	}
	if err != nil {
		return sandbox.Info{}, err
	}
	return c.info(st), nil
}

// List returns all sandboxes of a home that have a state.
func (c *Core) List(_ context.Context, home string) ([]sandbox.Info, error) {
	dir := c.files.In(home)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list sandboxes: %w", err)
	}
	var infos []sandbox.Info
	for _, entry := range entries {
		st, err := readState(filepath.Join(dir, entry.Name()))
		if err == nil && st.Identity.Home == home {
			infos = append(infos, c.info(st))
		}
	}
	return infos, nil
}

func (c *Core) info(st *State) sandbox.Info {
	info := sandbox.Info{Identity: st.Identity, Engine: c.Name(), State: sandbox.Stopped, Spec: st.Spec, SpecHash: st.SpecHash, Created: st.Created, Build: st.Build}
	if st.alive() {
		info.State = sandbox.Running
	}
	return info
}

// Inspect returns what the guest read back about itself at its start, together
// with what the kernel says of its limits. All of it is fixed for its life.
func (c *Core) Inspect(_ context.Context, id sandbox.Identity) (sandbox.Posture, error) {
	st, err := c.load(id.Normal())
	if errors.Is(err, fs.ErrNotExist) {
		return sandbox.Posture{}, sandbox.ErrNotFound
	}
	if err != nil {
		return sandbox.Posture{}, err
	}
	return st.Posture, nil
}

// Connect opens a stream to the guest through the socket that its creator made.
func (c *Core) Connect(ctx context.Context, id sandbox.Identity) (io.ReadWriteCloser, error) {
	conn, err := dialIn(ctx, c.connectDir(id))
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the sandbox %q is not running: %w", id.Task, sandbox.ErrGone)
	}
	return conn, err
}

// connectDir is RunDir, remembered: every command asks for it, and resolving a
// home's links costs more than connecting.
func (c *Core) connectDir(id sandbox.Identity) string {
	if dir, ok := c.known.Load(id); ok {
		return dir.(string)
	}
	dir := c.RunDir(id.Normal())
	if id == id.Normal() {
		c.known.Store(id, dir)
	}
	return dir
}

func (c *Core) load(id sandbox.Identity) (*State, error) {
	dir := c.files.Of(id)
	st, err := readState(dir)
	if err != nil {
		if _, running := os.Stat(c.RunDir(id)); errors.Is(running, fs.ErrNotExist) {
			// Whatever the file held was about a run that is over: the run
			// directory is made before a guest and removed after it.
			return nil, fs.ErrNotExist
		}
		return nil, err
	}
	if st.Identity != id {
		return nil, fmt.Errorf("the state in %s belongs to another sandbox; %s", dir, startAnew)
	}
	return st, nil
}

// GuestPID is the process id of a running sandbox's guest, for measuring it.
func (c *Core) GuestPID(id sandbox.Identity) (int, error) {
	st, err := c.load(id.Normal())
	if err != nil {
		return 0, err
	}
	if !st.alive() {
		return 0, sandbox.ErrGone
	}
	return st.PID, nil
}
