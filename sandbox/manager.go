package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/internal/wire"
)

// Options of a Manager.
type Options struct {
	// Lifetime is how long an unused sandbox is expected to be of use. One is
	// reaped after twice that, and never before two minutes. Zero means 300 s.
	Lifetime time.Duration
	// NoSweep switches the reaping of unused sandboxes off.
	NoSweep bool
	// Refuse makes Ensure fail when a sandbox exists with another spec, also
	// when it is idle and could be made anew.
	Refuse bool
	Log    *slog.Logger
}

// Manager hands out sandboxes of one engine. It is safe for concurrent use, and
// any number of processes may have one.
type Manager struct {
	engine  Engine
	options Options
	log     *slog.Logger

	mu      sync.Mutex
	boxes   []*Sandbox
	swept   bool
	working sync.WaitGroup
	stop    context.CancelFunc
	life    context.Context
}

const (
	defaultLifetime = 300 * time.Second
	minLifetime     = 60 * time.Second
	sweepBound      = 5 * time.Second
	listBound       = 2 * time.Second
	sweepInterval   = time.Minute
	closeBound      = 15 * time.Second
)

// NewManager returns a manager of e's sandboxes. Close it when done.
func NewManager(e Engine, o Options) *Manager {
	if o.Lifetime == 0 {
		o.Lifetime = defaultLifetime
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &Manager{engine: e, options: o, log: o.Log}
	m.life, m.stop = context.WithCancel(context.Background())
	return m
}

// EngineName is what people call the manager's engine.
func (m *Manager) EngineName() string { return m.engine.Name() }

// Capabilities is what the manager's engine can do.
func (m *Manager) Capabilities() Capabilities { return m.engine.Capabilities() }

// Window is how long a sandbox must be unused before it is reaped.
func (m *Manager) Window() time.Duration { return 2 * max(minLifetime, m.options.Lifetime) }

// Ensure returns the identity's sandbox, made or started if need be. One that
// exists with another spec is replaced when it is idle, and otherwise refused
// with the difference.
func (m *Manager) Ensure(ctx context.Context, id Identity, spec Spec) (*Sandbox, error) {
	if err := errors.Join(id.Validate(), spec.Validate()); err != nil {
		return nil, fmt.Errorf("cannot make a sandbox: %w", err)
	}
	id = id.Normal()
	// What an engine cannot leave out is its default.
	can := m.engine.Capabilities()
	if spec.Network == "" && len(can.Networks) > 0 {
		spec.Network = can.Networks[0]
	}
	if err := can.check(m.engine.Name(), spec); err != nil {
		return nil, fmt.Errorf("cannot make a sandbox: %w", err)
	}
	conn, err := m.open(ctx, id, spec)
	if err != nil {
		return nil, err
	}
	return m.hold(&Sandbox{identity: id, spec: spec, hash: spec.Hash(), conn: conn, owner: true}), nil
}

// Attach returns the identity's sandbox as it is, or ErrNotFound.
func (m *Manager) Attach(ctx context.Context, id Identity) (*Sandbox, error) {
	id = id.Normal()
	info, err := m.engine.Find(ctx, id)
	if err == nil && info.State == Paused {
		info, err = m.engine.Start(ctx, id, info.Spec)
	}
	if err != nil {
		return nil, err
	}
	if info.State != Running {
		return nil, fmt.Errorf("cannot attach to the sandbox %q: %w", id.Task, ErrNotFound)
	}
	conn, err := dial(ctx, m.engine, id, false)
	if err != nil {
		return nil, err
	}
	return m.hold(&Sandbox{identity: id, spec: info.Spec, hash: info.SpecHash, conn: conn}), nil
}

func (m *Manager) hold(box *Sandbox) *Sandbox {
	box.manager = m
	m.mu.Lock()
	defer m.mu.Unlock()
	m.boxes = append(m.boxes, box)
	// A sandbox for one command, and one that is only looked at, is no occasion to look after others.
	if !m.swept && !m.options.NoSweep && !box.spec.Ephemeral && !box.observer {
		m.swept = true
		if !rundir.Due(m.sweepStamp(box.identity.Home), sweepInterval) {
			return box
		}
		m.working.Add(1)
		go func() {
			defer m.working.Done()
			ctx, cancel := context.WithTimeout(m.life, sweepBound)
			defer cancel()
			m.sweep(ctx, box.identity)
		}()
	}
	return box
}

// forget takes a closed hold off the books, except for a sandbox that is still
// ours to remove.
func (m *Manager) forget(box *Sandbox) {
	if box.owner && box.spec.Ephemeral {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.boxes = slices.DeleteFunc(m.boxes, func(b *Sandbox) bool { return b == box })
}

// open finds or makes the sandbox and connects to it, under the identity's lock,
// so that of many callers one creates and the others attach.
func (m *Manager) open(ctx context.Context, id Identity, spec Spec) (conn *connection, err error) {
	lock, err := m.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	made, lacking := false, false
	defer func() {
		if err != nil && made && (spec.Ephemeral || lacking) {
			m.undo(ctx, id) // it was for this caller and nobody else
		}
		lock.Release(err != nil) // what could not be made leaves no trace
	}()
	made, err = m.provide(ctx, id, spec)
	if errors.Is(err, ErrExists) {
		// Somebody who does not see our lock was quicker, on another machine
		// perhaps. What is there now is looked at like any other.
		made, err = m.provide(ctx, id, spec)
	}
	if err != nil {
		return nil, err
	}
	conn, err = dial(ctx, m.engine, id, false)
	if errors.Is(err, ErrGone) {
		// Its guest was ending when we found it, and takes no callers any more.
		if err = m.engine.Remove(ctx, id, false); err == nil {
			_, err = m.engine.Create(ctx, id, spec)
			made = err == nil
		}
		if err != nil {
			return nil, err
		}
		conn, err = dial(ctx, m.engine, id, false)
	}
	if err != nil || len(spec.Require) == 0 {
		return conn, err
	}
	posture, err := m.postureBy(ctx, id, spec, conn)
	if err == nil {
		err = posture.Check(spec.Require)
	}
	if err != nil {
		lacking = true
		conn.close()
		return nil, err
	}
	return conn, nil
}

// undo removes a sandbox whose caller does not want it any more.
func (m *Manager) undo(ctx context.Context, id Identity) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeBound)
	defer cancel()
	if err := m.engine.Remove(ctx, id, false); err != nil {
		m.log.Warn("cannot remove a sandbox that was given up", "task", id.Task, "error", err)
	}
}

// provide sees to it that the identity has a running sandbox of the spec, and says
// whether it made it.
func (m *Manager) provide(ctx context.Context, id Identity, spec Spec) (made bool, err error) {
	info, err := m.engine.Find(ctx, id)
	if err == nil && m.serves(info, spec) {
		return false, nil
	}
	if r, ok := m.engine.(Rememberer); ok && err == nil {
		info, err = r.Ask(ctx, id)
	}
	if err == nil && info.State == Paused {
		info, err = m.engine.Start(ctx, id, spec)
	}
	switch {
	case errors.Is(err, ErrNotFound):
		_, err = m.engine.Create(ctx, id, spec)
	case err != nil:
		return false, fmt.Errorf("cannot look for the sandbox %q: %w", id.Task, err)
	case info.State == Stopped:
		_, err = m.engine.Start(ctx, id, spec)
	case info.SpecHash != spec.Hash():
		err = m.replace(ctx, info, spec, info.Spec.Difference(spec))
	case info.Build != m.engine.Capabilities().GuestBuild:
		var drift *DriftError
		if err = m.replace(ctx, info, spec, nil); errors.As(err, &drift) {
			return false, nil // an old guest serves as long as it is needed
		}
	default:
		return false, nil
	}
	return err == nil, err
}

// serves says whether a sandbox is what was asked for as it is.
func (m *Manager) serves(info Info, spec Spec) bool {
	return info.State == Running && info.SpecHash == spec.Hash() && info.Build == m.engine.Capabilities().GuestBuild
}

// DriftError means that a sandbox exists with another spec and cannot be
// replaced now.
type DriftError struct {
	Task       string
	Difference []string
}

func (e *DriftError) Error() string {
	return fmt.Sprintf("the sandbox %q exists with another specification and is in use (%s): wait until it is idle, remove it, or choose another task",
		e.Task, strings.Join(e.Difference, "; "))
}

// replace makes the sandbox anew if nobody uses it.
func (m *Manager) replace(ctx context.Context, info Info, spec Spec, difference []string) error {
	drift := &DriftError{Task: info.Identity.Task, Difference: difference}
	if m.options.Refuse && difference != nil {
		return drift
	}
	var left legacy
	for patience := time.Now().Add(leaving); ; {
		retired, st, err := m.retire(ctx, info.Identity, wire.Retire{}, &left)
		if errors.Is(err, errUnsupported) {
			return drift // it cannot say whether anybody needs it
		}
		if err != nil {
			return err
		}
		if retired {
			break
		}
		if st.Commands > 0 || st.Processes > 0 || time.Now().After(patience) {
			return drift
		}
		select {
		case <-time.After(leaving / 30):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := m.engine.Remove(ctx, info.Identity, false); err != nil {
		return err
	}
	if spec.Image != info.Spec.Image || spec.User != info.Spec.User {
		left.drop(errors.New("the sandbox has other programs or another user now"))
	}
	carried, err := m.succeed(ctx, info.Identity, spec, left)
	if carried.Lost != "" {
		m.log.Warn("sessions of a replaced sandbox begin anew", "task", info.Identity.Task, "because", carried.Lost)
	}
	return err
}

// leaving is how long the guest may take to notice that a caller has gone.
const leaving = 300 * time.Millisecond

// retire asks a guest to end, and says whether it does. What it hands over is put
// into left, unless that is nil.
func (m *Manager) retire(ctx context.Context, id Identity, req wire.Retire, left *legacy) (bool, wire.Status, error) {
	var failed error
	// A guest that ends may do so before its answer is read: then it is gone
	// when it is asked again.
	for range 2 {
		conn, err := dial(ctx, m.engine, id, true)
		if errors.Is(err, ErrGone) || errors.Is(err, ErrNotFound) {
			if left != nil && failed != nil {
				left.lose(failed)
			}
			return true, wire.Status{}, nil
		}
		if err != nil {
			failed = err
			continue
		}
		retired, st, err := conn.retire(req, left)
		conn.close()
		if err == nil {
			return retired, st, nil
		}
		failed = err
	}
	return false, wire.Status{}, fmt.Errorf("cannot ask the sandbox %q to end: %w", id.Task, failed)
}

// List returns the sandboxes of a home.
func (m *Manager) List(ctx context.Context, home string) ([]Info, error) {
	return m.engine.List(ctx, Identity{Home: home}.Normal().Home)
}

// StatusOf asks a sandbox for its lease without holding one.
func (m *Manager) StatusOf(ctx context.Context, id Identity) (Status, error) {
	conn, err := dial(ctx, m.engine, id.Normal(), true)
	if err != nil {
		return Status{}, err
	}
	defer conn.close()
	st, err := conn.status()
	return publicStatus(st), err
}

// Find tells what a sandbox is, without asking it.
func (m *Manager) Find(ctx context.Context, id Identity) (Info, error) {
	return m.engine.Find(ctx, id.Normal())
}

// Inspect finds out what is enforced on a sandbox.
func (m *Manager) Inspect(ctx context.Context, id Identity) (Info, Posture, error) {
	id = id.Normal()
	info, err := m.engine.Find(ctx, id)
	if err != nil {
		return info, Posture{}, err
	}
	if info.State != Running {
		return info, Posture{}, nil
	}
	posture, err := m.posture(ctx, id, info.Spec)
	return info, posture, err
}

// Remove ends a sandbox, in use or not. What it kept stays unless files is set.
func (m *Manager) Remove(ctx context.Context, id Identity, files bool) error {
	id = id.Normal()
	conns := m.connections(id)
	lock, err := m.lock(ctx, id)
	if err != nil {
		return err
	}
	defer lock.Release(true)
	if err := m.engine.Remove(ctx, id, files); err != nil {
		return fmt.Errorf("cannot remove the sandbox %q: %w", id.Task, err)
	}
	hungUp(conns)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.boxes = slices.DeleteFunc(m.boxes, func(b *Sandbox) bool { return b.identity == id && b.isClosed() })
	return nil
}

// connections are those that this manager's holds on a sandbox have now.
func (m *Manager) connections(id Identity) []*connection {
	m.mu.Lock()
	boxes := slices.Clone(m.boxes)
	m.mu.Unlock()
	var conns []*connection
	for _, b := range boxes {
		if b.identity != id {
			continue
		}
		if c := b.current(); c.alive() {
			conns = append(conns, c)
		}
	}
	return conns
}

func (m *Manager) lock(ctx context.Context, id Identity) (*rundir.Lock, error) {
	dir, err := rundir.Find()
	if err != nil {
		return nil, err
	}
	return rundir.Acquire(ctx, filepath.Join(dir, id.Key()+".lock"))
}

// Close gives up all sandboxes of this manager and removes the ephemeral ones
// before it returns. A sweep that is under way is let finish: it is bounded, and
// if every short process stopped its own, none would ever get done.
func (m *Manager) Close() error {
	m.working.Wait()
	m.stop()
	m.mu.Lock()
	boxes := m.boxes
	m.boxes = nil
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), closeBound)
	defer cancel()
	var failures []error
	for _, box := range boxes {
		box.Close()
		if box.spec.Ephemeral && box.owner {
			failures = append(failures, m.Remove(ctx, box.identity, false))
		}
	}
	return errors.Join(failures...)
}
