package toolbox

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/local"
	"hermes.example/hermes/sandbox/engine/native"
)

// testPlace is a real sandbox: of the native engine, or where that cannot be, of the local one.
type testPlace struct {
	manager  *sandbox.Manager
	identity sandbox.Identity
	isolated bool

	mu        sync.Mutex
	variables map[string]string
	box       *sandbox.Sandbox
}

func (p *testPlace) Use(ctx context.Context, f func(*sandbox.Sandbox) error) error {
	p.mu.Lock()
	box := p.box
	if box == nil {
		var err error
		if box, err = p.manager.Ensure(ctx, p.identity, sandbox.Spec{}); err != nil {
			p.mu.Unlock()
			return err
		}
		p.box = box
	}
	p.mu.Unlock()
	err := f(box)
	if errors.Is(err, sandbox.ErrGone) || errors.Is(err, sandbox.ErrNotFound) {
		p.forget()
	}
	return err
}

// forget makes the next call find the sandbox anew.
func (p *testPlace) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.box != nil {
		p.box.Close()
	}
	p.box = nil
}

func (p *testPlace) Variables() (map[string]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.variables, nil
}

func (p *testPlace) Isolated() bool { return p.isolated }

// newPlace makes a sandbox that goes with the test.
func newPlace(t *testing.T) *testPlace {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	p := &testPlace{identity: sandbox.Identity{Home: t.TempDir(), Task: "tools"}, isolated: true}
	try := func(e sandbox.Engine, err error) error {
		if err != nil {
			return err
		}
		p.manager = sandbox.NewManager(e, sandbox.Options{NoSweep: true})
		if p.box, err = p.manager.Ensure(t.Context(), p.identity, sandbox.Spec{}); err != nil {
			p.manager.Close()
		}
		return err
	}
	e, err := native.New(native.Options{})
	if err := try(e, err); err != nil {
		t.Logf("no native sandbox here (%v); the local engine is used", err)
		p.isolated = false
		e, err := local.New(local.Options{})
		if err := try(e, err); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := p.manager.Remove(ctx, p.identity, true); err != nil && !errors.Is(err, sandbox.ErrNotFound) {
			t.Error(err)
		}
		p.manager.Close()
	})
	return p
}

// usualSettings are those that nobody changed.
var usualSettings = config.Tools{MaxOutput: config.DefaultMaxOutput, Timeout: config.DefaultTimeout,
	MaxForeground: config.DefaultMaxForeground, Promote: true, Degraded: true}

// newToolbox returns tools in a real sandbox.
func newToolbox(t *testing.T, change ...func(*Options)) (*Toolbox, *testPlace) {
	t.Helper()
	p := newPlace(t)
	o := Options{Place: p, Session: "model", Home: p.identity.Home, Settings: usualSettings}
	for _, c := range change {
		c(&o)
	}
	box := New(o)
	t.Cleanup(func() { box.Close() })
	return box, p
}
