package local_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/local"
)

// arena is an engine with a home, and the hostile program.
type arena struct {
	t       *testing.T
	engine  sandbox.Engine
	manager *sandbox.Manager
	home    string
	run     string // the run directory
	program string
}

func newArena(t *testing.T) *arena {
	t.Helper()
	a := &arena{t: t, home: openDir(t), run: filepath.Join(openDir(t), "run")}
	if err := os.Mkdir(a.run, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", a.run)
	engine, err := newEngine()
	if err != nil {
		t.Fatal(err)
	}
	a.engine = engine
	a.manager = sandbox.NewManager(engine, sandbox.Options{NoSweep: true})
	a.program = filepath.Join(a.home, "attacker")
	program, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(a.program, program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := a.manager.Prune(context.Background(), a.home, true); err != nil {
			t.Error(err)
		}
		if err := a.manager.Close(); err != nil {
			t.Error(err)
		}
		for _, left := range append(guests(t), commands(t, "-local/")...) {
			t.Errorf("left behind: %s", left)
		}
	})
	return a
}

func (a *arena) id(task string) sandbox.Identity {
	return sandbox.Identity{Home: a.home, Task: task}.Normal()
}

func (a *arena) box(task string) *sandbox.Sandbox {
	a.t.Helper()
	box, err := a.manager.Ensure(a.t.Context(), a.id(task), sandbox.Spec{})
	if err != nil {
		a.t.Fatal(err)
	}
	return box
}

func (a *arena) guest(task string) int {
	a.t.Helper()
	pid, err := a.engine.(*local.Engine).GuestPID(a.id(task))
	if err != nil {
		a.t.Fatal(err)
	}
	return pid
}

func (a *arena) socket(task string) string {
	return filepath.Join(a.run, "hermes", a.id(task).Key()+"-local", "guest.sock")
}

// says runs a line that must succeed and returns what it prints.
func (a *arena) says(box *sandbox.Sandbox, line string) string {
	a.t.Helper()
	var out strings.Builder
	result, err := box.Exec(a.t.Context(), sandbox.Command{Line: line, Stdout: &out, Timeout: time.Minute, Env: map[string]string{attackVariable: "1", "XDG_RUNTIME_DIR": a.run}})
	if err != nil || result.Code != 0 {
		a.t.Fatalf("%q ends with %+v, %v: %s", line, result, err, out.String())
	}
	return strings.TrimSpace(out.String())
}

// attacks runs the hostile program inside.
func (a *arena) attacks(box *sandbox.Sandbox, args ...string) string {
	a.t.Helper()
	line := quote(a.program)
	for _, arg := range args {
		line += " " + quote(arg)
	}
	return a.says(box, line)
}

func quote(s string) string { return "'" + s + "'" }

// outside runs the hostile program as one who is in no sandbox.
func (a *arena) outside(args ...string) string {
	a.t.Helper()
	cmd := exec.Command(a.program, args...)
	cmd.Env = append(os.Environ(), attackVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		a.t.Fatalf("%q outside: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}
