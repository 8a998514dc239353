package faults

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

// ensureRole opens a sandbox when its input ends, and tells which one it got.
func ensureRole() error {
	engine, err := native.New(native.Options{})
	if err != nil {
		return err
	}
	progress := os.NewFile(3, "progress")
	m := sandbox.NewManager(engine, sandbox.Options{NoSweep: true})
	io.Copy(io.Discard, os.Stdin)
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	box, err := m.Ensure(ctx, sandbox.Identity{Home: setting("home"), Task: setting("task")}, spec())
	if err != nil {
		return err
	}
	res, err := box.Exec(ctx, sandbox.Command{Line: "readlink /proc/self/ns/pid", Stdout: progress})
	if err != nil || res.Code != 0 {
		return fmt.Errorf("%+v %w", res, err)
	}
	return m.Close()
}

func TestD10ManyProcessesGetOneSandbox(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		a.id("t")
		const callers = 50
		for round := range 2 {
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer read.Close()
			var all []*process
			for range callers {
				p := prepareRole(t, "ensure", map[string]string{"home": a.home, "task": "t"})
				p.Stdin = read
				p.begin(t)
				all = append(all, p)
			}
			time.Sleep(time.Second) // most of them wait for the signal by now
			write.Close()
			got := make(map[string]int)
			for _, p := range all {
				<-p.waited
				said, _ := io.ReadAll(p.progress)
				p.progress.Close()
				if !p.ProcessState.Success() {
					t.Errorf("a caller failed: %v", p.ProcessState)
				}
				got[strings.TrimSpace(string(said))]++
			}
			if len(got) != 1 || len(a.guests()) != 1 {
				t.Errorf("round %d: callers by sandbox %v, guests %v", round, got, a.guests())
			}
			if round == 0 { // and once more on the files of one that was killed
				a.killGuest()
			}
		}
	})
}

// Callers with different ideas of where sockets belong must not make two.
func TestD10CallersWithDifferentRunDirectories(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{})
		a.must(box, "true")
		other := scratch(t)
		os.Chmod(other, 0o700)
		t.Setenv("XDG_RUNTIME_DIR", other)
		engine, err := native.New(native.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := sandbox.NewManager(engine, sandbox.Options{NoSweep: true})
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		second, err := m.Ensure(ctx, a.id("t"), sandbox.Spec{})
		if err == nil {
			if res, err := second.Exec(ctx, sandbox.Command{Line: "true"}); err != nil || res.Code != 0 {
				t.Errorf("%+v %v", res, err)
			}
		} else {
			t.Errorf("the other caller cannot use it: %v", err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		t.Setenv("XDG_RUNTIME_DIR", a.run)
		if n := len(guestsBelow(a.run)) + len(guestsBelow(other)); os.Getuid() == 0 && n != 1 {
			t.Errorf("%d sandboxes", n)
		}
		a.must(box, "true")
	})
}
