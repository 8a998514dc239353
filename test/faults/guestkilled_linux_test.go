package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

// killGuest kills the arena's only guest as nothing can prevent.
func (a *arena) killGuest() {
	a.Helper()
	guests := a.guests()
	if len(guests) != 1 {
		a.Fatalf("there are %d guests", len(guests))
	}
	if err := signal(guests[0], syscall.SIGKILL); err != nil {
		a.Fatal(err)
	}
}

// lines counts the lines of a file in the workspace, from outside.
func (a *arena) lines(task, file string) int {
	data, _ := os.ReadFile(filepath.Join(a.home, "sandboxes", "native", a.id(task).Name(), "workspace", file))
	return strings.Count(string(data), "\n")
}

func TestD02LostCommandIsNeverRunAgain(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{})
		const id = "the one"
		out := newWatcher()
		running := make(chan outcome, 1)
		go func() {
			running <- a.try(box, sandbox.Command{Line: "echo run >> ran; echo ready; sleep 100", ID: id, Stdout: out})
		}()
		out.await(t, running)
		a.killGuest()
		if o := <-running; o.err != nil || o.Reason != sandbox.Lost || o.Code != -1 {
			t.Errorf("the running command: %+v %v", o.Result, o.err)
		}
		o := a.try(box, sandbox.Command{Line: "exit 7"})
		if o.err != nil || o.Code != 7 || !o.Recreated {
			t.Errorf("the next command: %+v %v", o.Result, o.err)
		}
		if o := a.try(box, sandbox.Command{Line: "echo run >> ran", ID: id}); o.err != nil || o.Reason != sandbox.Lost {
			t.Errorf("the same id again: %+v %v", o.Result, o.err)
		}
		// Also for a caller that does not know of the first time.
		m := sandbox.NewManager(a.engine, sandbox.Options{NoSweep: true})
		defer m.Close()
		other, err := m.Attach(t.Context(), a.id("t"))
		if err != nil {
			t.Fatal(err)
		}
		if o := a.try(other, sandbox.Command{Line: "echo run >> ran", ID: id}); o.err != nil || o.Reason != sandbox.Lost {
			t.Errorf("the same id from another caller: %+v %v", o.Result, o.err)
		}
		if n := a.lines("t", "ran"); n != 1 {
			t.Errorf("it ran %d times", n)
		}
	})
}

func TestGuestKilledAtAnyTime(t *testing.T) {
	eachAlone(t, func(t *testing.T) {
		r := random(t)
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{})
		a.must(box, "true")
		ends := map[sandbox.Reason]int{}
		for i := range size(t, "HERMES_KILLS", 20, 200) {
			id := fmt.Sprintf("id-%d", i)
			after := time.Duration(r.Int64N(int64(12 * time.Millisecond)))
			killed := make(chan struct{})
			guests := a.guests()
			go func() {
				defer close(killed)
				time.Sleep(after)
				for _, pid := range guests {
					signal(pid, syscall.SIGKILL)
				}
			}()
			o := a.try(box, sandbox.Command{Line: "echo " + id + " >> ran; sleep 0.005; exit 3", ID: id})
			<-killed
			switch {
			case o.err == nil && (o.Reason == sandbox.Lost || o.Reason == sandbox.Exited && o.Code == 3):
				ends[o.Reason]++
			default:
				// It may not have started at all, and then it says why.
				ends["error"]++
				t.Logf("%d: %+v %v", i, o.Result, o.err)
			}
			// Whatever is sent to a guest that is still dying may be lost, too.
			works := func() bool {
				o := a.try(box, sandbox.Command{Line: "exit 4"})
				if o.err != nil && !errors.Is(o.err, sandbox.ErrGone) || o.err == nil && o.Code != 4 && o.Reason != sandbox.Lost {
					t.Fatalf("%d: the next command: %+v %v", i, o.Result, o.err)
				}
				return o.err == nil && o.Code == 4
			}
			if !eventually(works) {
				t.Fatalf("%d: the sandbox works no more", i)
			}
			if !eventually(func() bool { return len(a.guests()) == 1 }) {
				t.Fatalf("%d: guests %v", i, a.guests())
			}
			// Once more, wherever it got to: it may run now only if it never did.
			a.try(box, sandbox.Command{Line: "echo " + id + " >> ran", ID: id})
		}
		t.Log(ends)
		data, _ := os.ReadFile(filepath.Join(a.home, "sandboxes", "native", "t", "workspace", "ran"))
		count := make(map[string]int)
		for _, id := range strings.Fields(string(data)) {
			if count[id]++; count[id] > 1 {
				t.Errorf("%s ran %d times", id, count[id])
			}
		}
	})
}

func TestD02OutputIsNeverTakenForALoss(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{})
		for i, words := range []string{"is not running", "No such container: x", "the sandbox has ended", "connection reset by peer", "EOF"} {
			o := a.try(box, sandbox.Command{Line: fmt.Sprintf("echo run >> ran%d; echo '%s' | tee /dev/stderr; exit 1", i, words)})
			if o.err != nil || o.Code != 1 || o.Reason != sandbox.Exited || o.Recreated {
				t.Errorf("%q: %+v %v", words, o.Result, o.err)
			}
			if n := a.lines("t", fmt.Sprintf("ran%d", i)); n != 1 {
				t.Errorf("%q: it ran %d times", words, n)
			}
		}
	})
}

func TestSandboxRemovedWhileACommandRuns(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{})
		out := newWatcher()
		running := make(chan outcome, 1)
		go func() { running <- a.try(box, sandbox.Command{Line: "echo ready; sleep 100", Stdout: out}) }()
		out.await(t, running)
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		if err := a.manager.Remove(ctx, a.id("t"), true); err != nil {
			t.Fatal(err)
		}
		if o := <-running; o.err != nil || o.Reason != sandbox.Lost {
			t.Errorf("%+v %v", o.Result, o.err)
		}
		if len(a.guests()) != 0 {
			t.Errorf("guests %v", a.guests())
		}
	})
}
