package configured

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

// counting makes native sandboxes, and counts what it is asked.
type counting struct {
	sandbox.Engine
	creations, questions atomic.Int64
}

func (e *counting) Create(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	e.creations.Add(1)
	return e.Engine.Create(ctx, id, spec)
}

func (e *counting) Find(ctx context.Context, id sandbox.Identity) (sandbox.Info, error) {
	e.questions.Add(1)
	return e.Engine.Find(ctx, id)
}

// stage is a home with sandboxes of the native engine.
type stage struct {
	*Sandboxes
	t      *testing.T
	engine *counting
	home   string
}

func newStage(t *testing.T, o Options, vars map[string]string) *stage {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run, err := os.MkdirTemp("", "hermes-configured-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	t.Setenv("XDG_RUNTIME_DIR", run)
	s := &stage{t: t, engine: new(counting), home: filepath.Join(base, "home")}
	all := map[string]string{"HERMES_HOME": s.home, "HOME": base, "TERMINAL_ENV": "counting"}
	for name, value := range vars {
		all[name] = value
	}
	o.Lookup = lookupIn(all)
	o.Makers = map[string]Maker{"counting": func(_ Options, c config.Config) (sandbox.Engine, error) {
		e, err := native.New(native.Options{Root: c.SandboxRoot})
		s.engine.Engine = e
		return s.engine, err
	}}
	s.Sandboxes, err = OpenSandboxes(o)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := s.Manager().Prune(ctx, s.Home(), true); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// run runs a line in the task's sandbox and returns what it prints.
func (s *stage) run(task, line string) string {
	s.t.Helper()
	var out strings.Builder
	err := s.Use(s.t.Context(), task, func(box *sandbox.Sandbox) error {
		_, err := box.Exec(s.t.Context(), sandbox.Command{Line: line, Stdout: &out})
		return err
	})
	if err != nil {
		s.t.Errorf("%s: %v", line, err)
	}
	return strings.TrimSpace(out.String())
}

// connections are the holds that the task's guest knows of.
func (s *stage) connections(task string) int {
	s.t.Helper()
	st, err := s.Manager().StatusOf(s.t.Context(), s.Identity(task))
	if err != nil {
		s.t.Fatal(err)
	}
	return st.Connections
}

// until waits for what is to happen by itself.
func (s *stage) until(what string, happened func() bool) {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(30 * time.Second); !happened(); {
		select {
		case <-end:
			s.t.Fatalf("it does not happen: %s", what)
		case <-tick.C:
		}
	}
}

func TestTheSecondUseAsksNoEngine(t *testing.T) {
	s := newStage(t, Options{}, nil)
	s.run("a", "touch /tmp/here")
	before := s.engine.questions.Load()
	for range 3 {
		if got := s.run("a", "ls /tmp"); got != "here" {
			t.Errorf("another sandbox: %q", got)
		}
	}
	if asked := s.engine.questions.Load() - before; asked != 0 || s.engine.creations.Load() != 1 {
		t.Errorf("%d questions, %d creations", asked, s.engine.creations.Load())
	}
}

func TestConcurrentFirstUsesMakeOneSandbox(t *testing.T) {
	s := newStage(t, Options{}, nil)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { s.run("a", "true") })
	}
	wg.Wait()
	if n := s.engine.creations.Load(); n != 1 || s.connections("a") != 1 {
		t.Errorf("%d creations, %d connections", n, s.connections("a"))
	}
}

// Who waits for a sandbox that another is making gets one also where that other gives up.
func TestWhoGivesUpDoesNotTakeOthersAlong(t *testing.T) {
	s := newStage(t, Options{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			if i%2 == 0 {
				s.run("a", "true")
				return
			}
			if err := s.Use(ctx, "a", func(*sandbox.Sandbox) error { return nil }); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("who gave up: %v", err)
			}
		})
	}
	wg.Wait()
}

// A call that panics, as one does whose answer is cut off, leaves the sandbox as any other call does.
func TestACallThatPanicsGivesItsHoldBack(t *testing.T) {
	s := newStage(t, Options{}, nil)
	func() {
		defer func() { recover() }()
		s.Use(t.Context(), "a", func(*sandbox.Sandbox) error { panic("cut off") })
	}()
	s.Release("a")
	if s.Held() != 0 {
		t.Errorf("%d holds are left", s.Held())
	}
	s.until("the guest sees the caller go", func() bool { return s.connections("a") == 0 })
}

func TestAnUnusedHoldIsGivenUp(t *testing.T) {
	s := newStage(t, Options{}, map[string]string{"TERMINAL_LIFETIME_SECONDS": "1"})
	s.run("a", "touch /tmp/here")
	if n := s.connections("a"); n != 1 {
		t.Fatalf("%d connections after a use", n)
	}
	s.until("the hold is given up", func() bool { return s.connections("a") == 0 })
	if got := s.run("a", "ls /tmp"); got != "here" {
		t.Errorf("the next use has another sandbox: %q", got)
	}
}

func TestABackgroundProcessKeepsTheHold(t *testing.T) {
	s := newStage(t, Options{}, map[string]string{"TERMINAL_LIFETIME_SECONDS": "1"})
	var p *sandbox.Process
	err := s.Use(t.Context(), "a", func(box *sandbox.Sandbox) (err error) {
		p, err = box.Start(t.Context(), sandbox.Background{Command: sandbox.Command{Line: "sleep 60"}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s.run("idle", "true") // whose hold goes, so that we know that somebody looked
	s.until("the other hold is given up", func() bool { return s.connections("idle") == 0 })
	if n := s.connections("a"); n != 1 {
		t.Errorf("%d connections while a process runs", n)
	}
	if _, err := p.Kill(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	s.until("the hold is given up after the process", func() bool { return s.connections("a") == 0 })
}

func TestASandboxThatEndedIsObtainedAnew(t *testing.T) {
	s := newStage(t, Options{}, nil)
	// One that somebody else made is only attached to, and so cannot make itself anew.
	box, err := s.Obtain(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Close(); err != nil {
		t.Fatal(err)
	}
	s.run("a", "touch /tmp/here")
	if err := s.Manager().Remove(t.Context(), s.Identity("a"), false); err != nil {
		t.Fatal(err)
	}
	if got := s.run("a", "ls /tmp"); got != "" || s.engine.creations.Load() != 2 {
		t.Errorf("prints %q, %d creations", got, s.engine.creations.Load())
	}
}

func TestASpecIsNotRefusedForOurOwnHold(t *testing.T) {
	s := newStage(t, Options{}, nil)
	s.run("a", "true")
	box, err := s.Obtain(t.Context(), "a", &sandbox.Spec{Limits: sandbox.Limits{Pids: 100}})
	if err != nil {
		t.Fatal(err)
	}
	if got := box.Spec().Limits.Pids; got != 100 {
		t.Errorf("it has %d", got)
	}
}

// A server of a named profile has the profile's settings, and its sandboxes are those that the home's commands show.
func TestAProfilesSandboxesAreTheHomes(t *testing.T) {
	s := newStage(t, Options{}, nil)
	dir := filepath.Join(s.home, "profiles", "coder")
	lookup := lookupIn(map[string]string{"HERMES_HOME": dir, "TERMINAL_ENV": "counting"})
	o := s.options
	o.Profile = "coder"
	byHome, err := OpenSandboxes(o)
	if err != nil {
		t.Fatal(err)
	}
	defer byHome.Close()
	o.Lookup, o.Home, o.Serves = lookup, s.home, true
	byProfile, err := OpenSandboxes(o)
	if err != nil {
		t.Fatal(err)
	}
	defer byProfile.Close()
	if a, b := byHome.Identity("x"), byProfile.Identity("x"); a != b {
		t.Errorf("%v is not %v", a, b)
	}
	err = byProfile.Use(t.Context(), "x", func(box *sandbox.Sandbox) error {
		_, err := box.Exec(t.Context(), sandbox.Command{Line: "touch /tmp/here"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := byHome.Manager().Find(t.Context(), byHome.Identity("x")); err != nil {
		t.Errorf("the home's command does not find it: %v", err)
	}
}

// A server that was told of a changed file makes its next sandbox by it.
func TestAServerReadsTheConfigurationAgain(t *testing.T) {
	s := newStage(t, Options{Serves: true}, nil)
	s.run("before", "true")
	if err := os.WriteFile(filepath.Join(s.home, "config.yaml"), []byte("terminal:\n  container_persistent: false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := s.Use(t.Context(), "after", func(box *sandbox.Sandbox) error {
		if !box.Spec().Ephemeral {
			t.Error("it was made by the old configuration")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
