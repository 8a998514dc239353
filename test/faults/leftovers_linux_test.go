package faults

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/wire"
	"hermes.example/hermes/sandbox"
)

// What commands leave in the workspace must not keep it from being removed.
func TestHostileFilesCanBeRemoved(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		outside := filepath.Join(scratch(t), "outside")
		if err := os.MkdirAll(filepath.Join(outside, "dir"), 0o755); err != nil {
			t.Fatal(err)
		}
		box := attackBox(a, sandbox.Spec{})
		deep := "true"
		if soak() || os.Getuid() == 0 {
			deep = "/tools/attack deep 25000" // more than there can be descriptors
		}
		a.must(box, strings.Join([]string{
			"mkdir -p closed/in && echo x > closed/in/file && chmod 000 closed/in && chmod 000 closed",
			"mkdir -p ro/in && echo x > ro/in/file && chmod -R a-w ro", // as Go's module cache is
			"ln -s " + outside + " link; ln -s " + outside + "/dir dirlink; ln -s loop loop; ln -s / root",
			"mkfifo fifo; printf 'a\\nb' > \"$(printf 'new\\nline')\"; touch -- -rf '*' \"$(head -c 255 /dev/zero | tr '\\0' n)\"",
			"chown 1234:1234 fifo 2>/dev/null; mkdir other && chown 1234:1234 other 2>/dev/null; chmod 700 other",
			"for i in {1..2000}; do echo > many$i; done",
			deep,
		}, "\n"))
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		if err := a.manager.Remove(ctx, box.Identity(), true); err != nil {
			text := err.Error()
			t.Errorf("cannot remove: %s … %s", text[:min(len(text), 200)], text[max(0, len(text)-200):])
		}
		if left := names(filepath.Join(a.home, "sandboxes", "native")); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
		if _, err := os.Stat(filepath.Join(outside, "dir")); err != nil {
			t.Errorf("the removal followed a link: %v", err)
		}
	})
}

// retire asks the sandbox to end if it is unused, as a reaper would whose time is over.
func (a *arena) retire(task string) bool {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), bound)
	defer cancel()
	conn, err := a.engine.Connect(ctx, a.id(task))
	if err != nil {
		a.Fatal(err)
	}
	mux, _, err := wire.Dial(conn, wire.Hello{Major: wire.Major, Observer: true})
	if err != nil {
		a.Fatal(err)
	}
	defer mux.Close()
	stream, err := mux.OpenStream()
	if err != nil {
		a.Fatal(err)
	}
	defer stream.Close()
	err = wire.NewWriter(stream).WriteMessage(wire.TypeRetire, wire.Retire{})
	var frame wire.Frame
	if err == nil {
		frame, err = wire.NewReader(stream).Next()
	}
	if err != nil && eventually(func() bool { return len(a.guests()) == 0 }) {
		return true // before its answer could be read
	}
	if err != nil || frame.Type != wire.TypeRetired && frame.Type != wire.TypeBusy {
		a.Fatalf("%v %v", frame.Type, err)
	}
	return frame.Type == wire.TypeRetired
}

func TestD05SandboxInUseIsNotReaped(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := treeBox(a, sandbox.Spec{})
		if a.retire("trees") {
			t.Fatal("reaped while somebody holds it")
		}
		// Nobody holds it, but a process of an ended command lives, hidden as it can be.
		for _, flags := range []string{"clear,close", "setsid,clear,close,hide", "setsid,clear,close,thread"} {
			var others bystanders
			others.add(a, box, flags)
			if err := box.Close(); err != nil {
				t.Fatal(err)
			}
			free := func() bool {
				st, err := a.manager.StatusOf(t.Context(), a.id("trees"))
				return err == nil && st.Connections == 0
			}
			if !eventually(free) {
				t.Fatal("the lease is still held")
			}
			if a.retire("trees") {
				t.Fatalf("%s: reaped under a living process", flags)
			}
			others.check(a)
			box = a.ensure("trees", sandbox.Spec{Mounts: []sandbox.Mount{{Source: program(t, "tree"), Target: "/tools/tree", ReadOnly: true}}})
			for _, pid := range named(others[0]) {
				signal(pid, 9)
			}
		}
		// A command that goes on without its caller counts, too.
		p := startRole(t, "caller", map[string]string{"home": a.home, "task": "trees", "line": "echo; sleep 1", "detached": "1",
			"mount": program(t, "tree"), "target": "/tools/tree"})
		buf := make([]byte, 16)
		for last := byte(0); last != phaseRunning; {
			n, err := p.progress.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			last = buf[n-1]
		}
		p.kill()
		box.Close()
		if a.retire("trees") {
			t.Fatal("reaped under a running command")
		}
		if !eventually(func() bool { return a.retire("trees") }) {
			t.Error("not reaped although nobody uses it")
		}
		if !eventually(func() bool { return len(a.guests()) == 0 }) {
			t.Error("it was told to end and lives on")
		}
	})
}

// A creation that its caller gives up leaves nothing.
func TestCreationGivenUpAtAnyTime(t *testing.T) {
	eachAlone(t, func(t *testing.T) {
		r := random(t)
		a := newArena(t)
		began := time.Now()
		a.ensure("warm", sandbox.Spec{})
		took := time.Since(began)
		given := 0
		for i := range 40 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.Int64N(int64(took))))
			m := sandbox.NewManager(a.engine, sandbox.Options{NoSweep: true})
			ephemeral := i%2 == 1
			_, err := m.Ensure(ctx, a.id("given up"), sandbox.Spec{Ephemeral: ephemeral})
			cancel()
			m.Close()
			if err != nil {
				given++
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("not one line: %v", err)
				}
			}
			// One that persists may be complete, and is found again. One that does not
			// has nobody to whom it could be of use.
			if ephemeral && err != nil && !eventually(func() bool { return len(a.guests()) == 1 }) {
				t.Errorf("%d: guests %v after %v", i, a.guests(), err)
			}
			cleanup, cancel := context.WithTimeout(t.Context(), bound)
			if err := a.manager.Remove(cleanup, a.id("given up"), true); err != nil {
				t.Fatalf("%d: %v", i, err)
			}
			cancel()
		}
		t.Logf("%d of 40 were given up within %s", given, took)
		a.must(a.ensure("given up", sandbox.Spec{}), "true")
	})
}
