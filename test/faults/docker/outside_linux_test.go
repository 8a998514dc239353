package docker

import (
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
)

// outside is what somebody does to a container without asking us.
type outside struct {
	name string
	do   func(a *arena, id string)
	// ends says that nothing runs in it any more, removes that it is gone.
	ends, removes bool
}

func outsiders() []outside {
	return []outside{
		{name: "removed", ends: true, removes: true, do: func(a *arena, id string) {
			r, err := a.api.ContainerRemove(a.context(), id, client.ContainerRemoveOptions{Force: true})
			do(a, r, err)
		}},
		{name: "stopped", ends: true, do: func(a *arena, id string) {
			r, err := a.api.ContainerStop(a.context(), id, client.ContainerStopOptions{})
			do(a, r, err)
		}},
		{name: "killed", ends: true, do: func(a *arena, id string) {
			r, err := a.api.ContainerKill(a.context(), id, client.ContainerKillOptions{})
			do(a, r, err)
		}},
		{name: "renamed", do: func(a *arena, id string) {
			r, err := a.api.ContainerRename(a.context(), id, client.ContainerRenameOptions{NewName: "renamed-" + id[:12]})
			do(a, r, err)
		}},
	}
}

// A container that somebody took away is replaced, one that somebody ended is started
// again with what was written in it, and whoever runs the next command is told.
func TestContainerChangedBetweenCommands(t *testing.T) {
	t.Parallel()
	for _, o := range outsiders() {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			a := newArena(t)
			box := a.ensure("t")
			a.must(box, "echo kept > file; echo layer > /layer")
			before := a.one("t")
			o.do(a, before)
			said := a.must(box, "cat file; cat /layer 2>/dev/null || echo none")
			want := "kept\nlayer"
			if o.removes {
				want = "kept\nnone"
			}
			if said.out != want || said.Recreated != o.ends {
				t.Errorf("it says %q, recreated %v", said.out, said.Recreated)
			}
			if same := a.one("t") == before; same == o.removes {
				t.Errorf("the same container: %v", same)
			}
			if a.must(box, "true").Recreated {
				t.Error("it is said twice")
			}
		})
	}
}

// A command whose container ends under it is lost, and never run again.
func TestContainerChangedDuringACommand(t *testing.T) {
	t.Parallel()
	for _, o := range outsiders() {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			a := newArena(t)
			box := a.ensure("t")
			command := sandbox.Command{Line: "echo ran >> ran; echo ready; while [ ! -e go ]; do sleep 0.02; done; echo end", ID: "once"}
			done := a.begun(box, command)
			o.do(a, a.one("t"))
			if o.ends {
				if end := <-done; end.err != nil || end.Reason != sandbox.Lost || end.Message == "" {
					t.Errorf("it ended with %+v, %v", end.Result, end.err)
				}
				if again := a.try(box, command); again.err != nil || again.Reason != sandbox.Lost {
					t.Errorf("asked again it ended with %+v, %v", again.Result, again.err)
				}
			} else {
				a.must(a.ensureBy(a.another(), "t", a.spec()), "touch go")
				if end := <-done; end.err != nil || end.Code != 0 || end.out != "ready\nend\n" {
					t.Errorf("it ended with %+v, %v", end.Result, end.err)
				}
			}
			if ran := a.must(box, "cat ran").out; ran != "ran" {
				t.Errorf("it ran %q", ran)
			}
		})
	}
}

// A container that somebody pauses holds its command still; whoever opens it lets it go on.
func TestD11PausedGoesOn(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	box := a.ensure("t")
	done := a.begun(box, sandbox.Command{Line: "echo ready; while [ ! -e go ]; do sleep 0.02; done; echo end"})
	before := a.one("t")
	r, err := a.api.ContainerPause(a.context(), before, client.ContainerPauseOptions{})
	do(a, r, err)
	info, err := a.manager.Find(a.context(), a.id("t"))
	if err != nil || info.State != sandbox.Paused {
		t.Errorf("it is found as %s, %v", info.State, err)
	}
	other := a.ensureBy(a.another(), "t", a.spec())
	a.must(other, "touch go")
	if end := <-done; end.err != nil || end.Code != 0 || end.out != "ready\nend\n" {
		t.Errorf("it ended with %+v, %v: %q", end.Result, end.err, end.out)
	}
	if a.one("t") != before {
		t.Error("it is another container")
	}
}

// What a command prints is never taken for news of its container.
func TestD02OutputIsNeverTakenForALostContainer(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	box := a.ensure("t")
	before := a.one("t")
	for i, text := range []string{"service is not running", "Error response from daemon: No such container: x", "no such container", "Error: the container is not running"} {
		o := a.try(box, sandbox.Command{Line: "echo ran >> ran; echo '" + text + "'; echo '" + text + "' >&2; exit 1"})
		if o.err != nil || o.Code != 1 || o.Reason != sandbox.Exited || o.Recreated {
			t.Errorf("%q: %+v %v", text, o.Result, o.err)
		}
		if got := strings.Count(a.kept("t", "ran"), "ran"); got != i+1 {
			t.Errorf("%q: %d commands ran %d times", text, i+1, got)
		}
	}
	if a.one("t") != before {
		t.Error("it is another container")
	}
}
