package faults

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

// bound is longer than anything here takes on a busy machine.
const bound = 60 * time.Second

// arena is a home and a run directory of one test, with a manager on them. At its
// end everything is pruned, and what is left then is an error.
type arena struct {
	testing.TB
	home, run string
	engine    sandbox.Engine
	manager   *sandbox.Manager
	known     []sandbox.Identity
	before    traces
}

func newArena(t testing.TB) *arena {
	t.Helper()
	dir := scratch(t)
	a := &arena{TB: t, home: filepath.Join(dir, "home"), run: filepath.Join(dir, "run")}
	for _, d := range []string{a.home, a.run} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", a.run)
	a.before = a.traces()
	var err error
	if a.engine, err = native.New(native.Options{}); err != nil {
		t.Fatal(err)
	}
	a.manager = sandbox.NewManager(a.engine, sandbox.Options{NoSweep: true})
	t.Cleanup(a.end)
	return a
}

// scratch is like TempDir, but other users can reach what is in it, and it is
// removed last.
func scratch(t testing.TB) string {
	t.Helper()
	parent := base
	if as := os.Getenv(asVariable); as != "" {
		parent = os.Getenv("HOME")
	}
	dir, err := os.MkdirTemp(parent, "t")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (a *arena) end() {
	a.Helper()
	if err := a.manager.Close(); err != nil {
		a.Errorf("cannot close the manager: %v", err)
	}
	m := sandbox.NewManager(a.engine, sandbox.Options{NoSweep: true})
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	if _, err := m.Prune(ctx, a.home, true); err != nil {
		a.Errorf("cannot prune: %v", err)
	}
	a.checkLeaks()
}

// id returns an identity of the arena's home.
func (a *arena) id(task string) sandbox.Identity {
	id := sandbox.Identity{Home: a.home, Task: task}.Normal()
	if !slices.Contains(a.known, id) {
		a.known = append(a.known, id)
	}
	return id
}

func (a *arena) ensure(task string, spec sandbox.Spec) *sandbox.Sandbox {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), bound)
	defer cancel()
	box, err := a.manager.Ensure(ctx, a.id(task), spec)
	if err != nil {
		a.Fatal(err)
	}
	return box
}

// outcome is a command's result and its merged output.
type outcome struct {
	sandbox.Result
	out string
	err error
}

// run runs a command within the bound and takes any outcome.
func (a *arena) try(box *sandbox.Sandbox, c sandbox.Command) outcome {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), bound)
	defer cancel()
	var out bytes.Buffer
	if c.Stdout == nil {
		c.Stdout = &out
	}
	res, err := box.Exec(ctx, c)
	if ctx.Err() != nil && a.Context().Err() == nil {
		a.Errorf("the command did not end within %s: %+v %v", bound, res, err)
	}
	return outcome{res, out.String(), err}
}

// must runs a line that has to succeed, and returns its output.
func (a *arena) must(box *sandbox.Sandbox, line string) string {
	a.Helper()
	o := a.try(box, sandbox.Command{Line: line})
	if o.err != nil || o.Code != 0 {
		a.Fatalf("%q: %+v %v\n%s", line, o.Result, o.err, o.out)
	}
	return strings.TrimSpace(o.out)
}

// treeKind says how the sandbox's commands are found to be killed.
func (a *arena) fact(box *sandbox.Sandbox, name string) sandbox.Fact {
	a.Helper()
	posture, err := box.Posture(a.Context())
	if err != nil {
		a.Fatal(err)
	}
	for _, f := range posture.Facts {
		if f.Name == name {
			return f
		}
	}
	a.Fatalf("the posture says nothing of %s", name)
	return sandbox.Fact{}
}

// eventually waits for a condition within five seconds.
func eventually(what func() bool) bool {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if what() {
			return true
		}
	}
	return what()
}
