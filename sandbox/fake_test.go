package sandbox_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"hermes.example/hermes/internal/wire"
	"hermes.example/hermes/sandbox"
)

// fakeEngine keeps sandboxes in memory. Its guests know their lease and nothing
// else: enough to see what a Manager asks for, at times that no test can wait for.
type fakeEngine struct {
	mu      sync.Mutex
	boxes   map[sandbox.Identity]*fakeBox
	created []sandbox.Identity
	removed []sandbox.Identity
	sweeps  int
	find    error // what a lookup fails with
	probe   func(*fakeBox)
	build   string
	// networks are those that it has, if it says so
	networks   []sandbox.Network
	containers bool
}

type fakeBox struct {
	info  sandbox.Info
	lease wire.Status
	probe *wire.Probe // nil for a guest that knows no probes
	gone  bool
	asked []time.Duration // how long it should have been unused, by each who asked
}

func newFake() *fakeEngine {
	return &fakeEngine{boxes: make(map[sandbox.Identity]*fakeBox), build: "now"}
}

// add makes a sandbox that was there before.
func (e *fakeEngine) add(id sandbox.Identity, lease wire.Status) *fakeBox {
	id = id.Normal()
	b := &fakeBox{lease: lease, probe: &wire.Probe{Seccomp: true}, info: sandbox.Info{Identity: id, State: sandbox.Running, SpecHash: sandbox.Spec{}.Hash(), Build: e.build}}
	e.boxes[id] = b
	return b
}

func (e *fakeEngine) Name() string { return "fake" }

func (e *fakeEngine) Capabilities() sandbox.Capabilities {
	return sandbox.Capabilities{GuestBuild: e.build, Networks: e.networks, Containers: e.containers}
}

func (e *fakeEngine) Create(_ context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b := e.boxes[id]; b != nil && !b.gone {
		return sandbox.Info{}, sandbox.ErrExists
	}
	e.created = append(e.created, id)
	b := e.add(id, wire.Status{})
	b.info.Spec, b.info.SpecHash = spec.Public(), spec.Hash()
	if e.probe != nil {
		e.probe(b)
	}
	return b.info, nil
}

func (e *fakeEngine) Start(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	e.mu.Lock()
	delete(e.boxes, id)
	e.mu.Unlock()
	return e.Create(ctx, id, spec)
}

func (e *fakeEngine) Find(_ context.Context, id sandbox.Identity) (sandbox.Info, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.find != nil {
		return sandbox.Info{}, e.find
	}
	b := e.boxes[id]
	if b == nil {
		return sandbox.Info{}, sandbox.ErrNotFound
	}
	return b.info, nil
}

func (e *fakeEngine) List(_ context.Context, home string) ([]sandbox.Info, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []sandbox.Info
	for id, b := range e.boxes {
		if id.Home == home {
			all = append(all, b.info)
		}
	}
	return all, nil
}

func (e *fakeEngine) Inspect(context.Context, sandbox.Identity) (sandbox.Posture, error) {
	return sandbox.Posture{Facts: []sandbox.Fact{{Name: sandbox.FactSeccomp, Enforced: true}, {Name: sandbox.FactMemory, Value: "none"}}}, nil
}

func (e *fakeEngine) Remove(_ context.Context, id sandbox.Identity, _ bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.boxes, id)
	e.removed = append(e.removed, id)
	return nil
}

func (e *fakeEngine) Sweep(context.Context, string) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sweeps++
	return 0, nil
}

func (e *fakeEngine) Connect(_ context.Context, id sandbox.Identity) (io.ReadWriteCloser, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.boxes[id]
	if b == nil || b.gone {
		return nil, sandbox.ErrGone
	}
	ours, theirs := net.Pipe()
	go e.guest(theirs, b)
	return ours, nil
}

// guest answers one connection.
func (e *fakeEngine) guest(conn net.Conn, b *fakeBox) {
	defer conn.Close()
	if _, _, err := wire.Greet(conn); err != nil {
		return
	}
	mux, err := wire.Serve(conn, wire.Hello{Major: wire.Major, Minor: wire.Minor, Build: e.build})
	if err != nil {
		return
	}
	defer mux.Close()
	for {
		stream, err := mux.AcceptStream()
		if err != nil {
			return
		}
		e.answer(stream, b)
		stream.Close()
	}
}

func (e *fakeEngine) answer(stream net.Conn, b *fakeBox) {
	w := wire.NewWriter(stream)
	frame, err := wire.NewReader(stream).Next()
	if err != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var ask wire.Retire
	switch {
	case frame.Type == wire.TypeStatus:
		w.WriteMessage(wire.TypeStatus, b.lease)
	case frame.Type == wire.TypeProbe && b.probe != nil:
		w.WriteMessage(wire.TypeProbe, b.probe)
	case frame.Type != wire.TypeRetire || frame.Decode(&ask) != nil:
		w.Write(wire.TypeUnsupported, nil)
	default:
		b.asked = append(b.asked, ask.Idle)
		if b.lease.Busy() || b.lease.Idle < ask.Idle {
			w.WriteMessage(wire.TypeBusy, b.lease)
			return
		}
		b.gone = true
		w.WriteMessage(wire.TypeRetired, b.lease)
	}
}

// manage returns a manager of e with a run directory of its own.
func manage(t *testing.T, e sandbox.Engine, o sandbox.Options) *sandbox.Manager {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	m := sandbox.NewManager(e, o)
	t.Cleanup(func() { m.Close() })
	return m
}
