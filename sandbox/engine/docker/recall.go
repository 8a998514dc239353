package docker

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"

	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/internal/programs"
	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/sandbox"
)

// Recall returns an engine for callers who want one identity's sandbox, if this machine
// remembers its guest and that is still there. The daemon is then asked only for what its
// guest cannot tell: to look for it and to ask it takes longer than all the rest of a short
// command. Of the options it needs Name, Arch and Host; open returns the engine that asks.
func Recall(o Options, id sandbox.Identity, open func(context.Context) (sandbox.Engine, error)) (sandbox.Engine, bool) {
	run, err := rundir.Look()
	if err != nil {
		return nil, false
	}
	build, err := programs.Guest.Digest(o.Arch)
	if err != nil {
		return nil, false
	}
	id = id.Normal()
	data, err := atomicfile.Read(filepath.Join(runDir(run, id, o.Name), sightingName))
	if err != nil {
		return nil, false
	}
	var seen sighting
	if json.Unmarshal(data, &seen) != nil || seen.Host != o.Host || seen.Info.Identity != id || !seen.lives() {
		return nil, false
	}
	return &recalled{name: o.Name, build: build, id: id, seen: seen, open: open}, true
}

// recalled is an engine that knows one sandbox without asking the daemon.
type recalled struct {
	name, build string
	id          sandbox.Identity
	seen        sighting
	open        func(context.Context) (sandbox.Engine, error)

	mu     sync.Mutex
	opened sandbox.Engine
	// asked is set once something may have become of the sandbox through the daemon, which may
	// be another one than it was. What is remembered is then of no use.
	asked atomic.Bool
}

// daemon returns the engine that asks. One that did not answer may do so the next time.
func (r *recalled) daemon(ctx context.Context) (e sandbox.Engine, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opened == nil {
		if e, err = r.open(ctx); err != nil {
			return nil, err
		}
		r.opened = e
	}
	return r.opened, nil
}

// ask returns the engine that asks, for good if it is about the sandbox.
func (r *recalled) ask(ctx context.Context, id sandbox.Identity) (sandbox.Engine, error) {
	e, err := r.daemon(ctx)
	if err == nil && r.is(id) {
		r.asked.Store(true)
	}
	return e, err
}

// is says whether the sandbox is the identity's. Resolving the links of a home costs more
// than connecting, and most callers have done it.
func (r *recalled) is(id sandbox.Identity) bool { return id == r.id || id.Normal() == r.id }

// knows says whether the sandbox can be told of without asking.
func (r *recalled) knows(id sandbox.Identity) bool {
	return r.is(id) && !r.asked.Load() && r.seen.lives()
}

// Name is the daemon's kind.
func (r *recalled) Name() string { return r.name }

// Capabilities tells what sandboxes of containers can have.
func (r *recalled) Capabilities() sandbox.Capabilities { return capabilities(r.build) }

// Find returns the sandbox that was recalled, or asks.
func (r *recalled) Find(ctx context.Context, id sandbox.Identity) (sandbox.Info, error) {
	if r.knows(id) {
		return r.seen.Info, nil
	}
	e, err := r.daemon(ctx)
	if err != nil {
		return sandbox.Info{}, err
	}
	return e.Find(ctx, id)
}

// Ask finds a sandbox by the daemon.
func (r *recalled) Ask(ctx context.Context, id sandbox.Identity) (sandbox.Info, error) {
	e, err := r.ask(ctx, id)
	if err != nil {
		return sandbox.Info{}, err
	}
	return e.Find(ctx, id)
}

// Connect dials the guest that was recalled, or asks.
func (r *recalled) Connect(ctx context.Context, id sandbox.Identity) (io.ReadWriteCloser, error) {
	if r.is(id) && !r.asked.Load() {
		if conn, err := dialSocket(ctx, r.seen.Door, r.seen.PID); err == nil && r.knows(id) {
			return conn, nil
		} else if err == nil {
			conn.Close()
		}
	}
	e, err := r.daemon(ctx)
	if err != nil {
		return nil, err
	}
	return e.Connect(ctx, id)
}

// Create asks the daemon, as does all that follows.
func (r *recalled) Create(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	e, err := r.ask(ctx, id)
	if err != nil {
		return sandbox.Info{}, err
	}
	return e.Create(ctx, id, spec)
}

// List returns all sandboxes of a home.
func (r *recalled) List(ctx context.Context, home string) ([]sandbox.Info, error) {
	e, err := r.daemon(ctx)
	if err != nil {
		return nil, err
	}
	return e.List(ctx, home)
}

// Start brings a sandbox back.
func (r *recalled) Start(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	e, err := r.ask(ctx, id)
	if err != nil {
		return sandbox.Info{}, err
	}
	return e.Start(ctx, id, spec)
}

// Inspect tells what holds for a sandbox.
func (r *recalled) Inspect(ctx context.Context, id sandbox.Identity) (sandbox.Posture, error) {
	e, err := r.daemon(ctx)
	if err != nil {
		return sandbox.Posture{}, err
	}
	return e.Inspect(ctx, id)
}

// Remove ends a sandbox.
func (r *recalled) Remove(ctx context.Context, id sandbox.Identity, files bool) error {
	e, err := r.ask(ctx, id)
	if err != nil {
		return err
	}
	return e.Remove(ctx, id, files)
}

// Sweep removes leftovers.
func (r *recalled) Sweep(ctx context.Context, home string) (int, error) {
	e, err := r.daemon(ctx)
	if err != nil {
		return 0, err
	}
	return e.Sweep(ctx, home)
}

// Keeps says whether anything is left of a sandbox.
func (r *recalled) Keeps(ctx context.Context, id sandbox.Identity) (bool, error) {
	e, err := r.daemon(ctx)
	if err != nil {
		return false, err
	}
	return e.(sandbox.Keeper).Keeps(ctx, id)
}

// Purge removes what is left of a home's sandboxes.
func (r *recalled) Purge(ctx context.Context, home string) (int, error) {
	e, err := r.daemon(ctx)
	if err != nil {
		return 0, err
	}
	return e.(sandbox.Keeper).Purge(ctx, home)
}

// RemoveForeign removes what the Hermes agent made.
func (r *recalled) RemoveForeign(ctx context.Context, id sandbox.Identity) (bool, error) {
	e, err := r.daemon(ctx)
	if err != nil {
		return false, err
	}
	return e.(sandbox.Host).RemoveForeign(ctx, id)
}
