package faults

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.example/hermes/internal/wire"
	"hermes.example/hermes/sandbox"
)

// fakeEngine has sandboxes that are nothing but a guest of some protocol.
type fakeEngine struct {
	hello wire.Hello
	mu    sync.Mutex
	made  map[sandbox.Identity]sandbox.Info
	gone  sync.WaitGroup
}

func (e *fakeEngine) Name() string { return "fake" }
func (e *fakeEngine) Capabilities() sandbox.Capabilities {
	return sandbox.Capabilities{GuestBuild: "new", Direct: true}
}

func (e *fakeEngine) Create(_ context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.made[id]; ok {
		return sandbox.Info{}, sandbox.ErrExists
	}
	info := sandbox.Info{Identity: id, State: sandbox.Running, Spec: spec, SpecHash: spec.Hash(), Build: e.hello.Build}
	e.made[id] = info
	return info, nil
}

func (e *fakeEngine) Start(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	return e.Create(ctx, id, spec)
}

func (e *fakeEngine) Find(_ context.Context, id sandbox.Identity) (sandbox.Info, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if info, ok := e.made[id]; ok {
		return info, nil
	}
	return sandbox.Info{}, sandbox.ErrNotFound
}

func (e *fakeEngine) List(context.Context, string) ([]sandbox.Info, error) { return nil, nil }
func (e *fakeEngine) Sweep(context.Context, string) (int, error)           { return 0, nil }
func (e *fakeEngine) Inspect(context.Context, sandbox.Identity) (sandbox.Posture, error) {
	return sandbox.Posture{}, nil
}

func (e *fakeEngine) Remove(_ context.Context, id sandbox.Identity, _ bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.made, id)
	return nil
}

func (e *fakeEngine) Connect(context.Context, sandbox.Identity) (io.ReadWriteCloser, error) {
	ours, theirs := net.Pipe()
	e.gone.Add(1)
	go func() {
		defer e.gone.Done()
		e.serve(theirs)
	}()
	return ours, nil
}

// serve is a guest that can run commands and nothing else.
func (e *fakeEngine) serve(conn net.Conn) {
	defer conn.Close()
	if _, _, err := wire.Greet(conn); err != nil {
		return
	}
	mux, err := wire.Serve(conn, e.hello)
	if err != nil {
		return
	}
	defer mux.Close()
	for {
		stream, err := mux.AcceptStream()
		if err != nil {
			return
		}
		e.gone.Add(1)
		go func() {
			defer e.gone.Done()
			defer stream.Close()
			r, w := wire.NewReader(stream), wire.NewWriter(stream)
			frame, err := r.Next()
			if err != nil {
				return
			}
			var exec wire.Exec
			if frame.Type != wire.TypeExec || frame.Decode(&exec) != nil {
				w.Write(wire.TypeUnsupported, []byte{byte(frame.Type)})
				return
			}
			w.WriteMessage(wire.TypeStarted, wire.Started{PID: 2})
			w.Write(wire.TypeStdout, []byte("ran "+exec.Line))
			w.Write(99, []byte("a frame that nobody knows"))
			w.WriteMessage(wire.TypeExit, wire.Exit{Code: 5, Reason: wire.ReasonExit, Stdout: int64(len("ran " + exec.Line))})
		}()
	}
}

// withFake runs a test on sandboxes with such a guest.
func withFake(t *testing.T, hello wire.Hello, test func(ctx context.Context, m *sandbox.Manager, id sandbox.Identity)) {
	t.Helper()
	a := newArena(t)
	e := &fakeEngine{hello: hello, made: make(map[sandbox.Identity]sandbox.Info)}
	m := sandbox.NewManager(e, sandbox.Options{NoSweep: true})
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	id := a.id("t")
	test(ctx, m, id)
	if err := m.Remove(ctx, id, true); err != nil {
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	e.gone.Wait()
}

func TestGuestOfThePreviousProtocol(t *testing.T) {
	withFake(t, wire.Hello{Major: wire.Major - 1, Build: "old"}, func(ctx context.Context, m *sandbox.Manager, id sandbox.Identity) {
		// The second Ensure finds an older build, and keeps it when it cannot be asked.
		for range 2 {
			box, err := m.Ensure(ctx, id, sandbox.Spec{})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			res, err := box.Exec(ctx, sandbox.Command{Line: "something", Stdout: &out})
			if err != nil || res.Code != 5 || out.String() != "ran something" {
				t.Errorf("%+v %v %q", res, err, out.String())
			}
			if _, err := box.Status(ctx); err == nil || !strings.Contains(err.Error(), "too old") || strings.Contains(err.Error(), "\n") {
				t.Errorf("what it does not know: %v", err)
			}
			if err := box.Files("").WriteFile(ctx, "file", []byte("x"), 0); err == nil || !strings.Contains(err.Error(), "too old") {
				t.Errorf("files, which it does not know: %v", err)
			}
			// Cancelling needs what it does not know, and has to end all the same.
			short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
			box.Exec(short, sandbox.Command{Line: "something"})
			cancel()
		}
	})
}

func TestGuestOfAFutureProtocol(t *testing.T) {
	withFake(t, wire.Hello{Major: 99, Build: "future"}, func(ctx context.Context, m *sandbox.Manager, id sandbox.Identity) {
		for range 2 {
			_, err := m.Ensure(ctx, id, sandbox.Spec{})
			if err == nil || !strings.Contains(err.Error(), "protocol 99") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
		}
	})
}
