package docker_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/test/containers"
)

// door is where the guest's socket is inside.
const door = "/.hermes/run/guest.sock"

// TestTheDoorsOfTheGuest lets commands, root's and an ordinary user's, try to speak to
// the guest or in its name.
func TestTheDoorsOfTheGuest(t *testing.T) {
	program := build(t, "intruder", "hermes.example/hermes/test/containers/intruder")
	withIntruder := func(s *sandbox.Spec) {
		s.Mounts = []sandbox.Mount{{Source: program, Target: "/intruder", ReadOnly: true}}
	}
	for _, user := range []string{"", "1000:1000"} {
		name := "root"
		if user != "" {
			name = "an ordinary user"
		}
		t.Run(name, func(t *testing.T) {
			onEachDaemon(t, func(t *testing.T, a *arena) {
				box := a.box(containers.Debian, withIntruder, func(s *sandbox.Spec) { s.User = user })
				nobodyComesIn(t, a, box, program)
				nobodyPoses(t, a, box)
				for _, wreck := range []string{
					"rm -f " + door, "rm -f " + door + "; touch " + door, "rm -f " + door + "; ln -s /var/run/docker.sock " + door,
					"rm -rf " + door + "; mkdir -p " + door + "/x",
				} {
					a.says(box, wreck)
					if got := a.anew(); got != "well" {
						t.Errorf("after %q a new caller is told %q", wreck, got)
					}
				}
				staysUsable(t, a)
			})
		})
	}
}

// nobodyComesIn tries both doors, by commands and by processes that somebody else started
// in the container, whom Landlock does not hold.
func nobodyComesIn(t *testing.T, a *arena, box *sandbox.Sandbox, program string) {
	t.Helper()
	out, err := exec.Command(program, "call", filepath.Join(a.doorOutside(), "guest.sock")).CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "done" {
		t.Errorf("not shown: outside it is told %q, %v", got, err)
	}
	for _, attack := range []string{"call " + door, "hand-over " + door, "claim", "guess", "replay"} {
		if got := a.says(box, "/intruder "+attack); !strings.HasPrefix(got, "refused") {
			t.Errorf("%s: a command is told %q", attack, got)
		}
		if got := a.beside(strings.Fields("/intruder " + attack)...); !strings.HasPrefix(got, "refused") {
			t.Errorf("%s: another process is told %q", attack, got)
		}
	}
}

// nobodyPoses puts an impostor in the place of the socket: callers go another way, and
// tell it nothing.
func nobodyPoses(t *testing.T, a *arena, box *sandbox.Sandbox) {
	t.Helper()
	a.says(box, "/intruder pose "+door+" >/workspace/heard 2>&1 & until [ -s /workspace/heard ]; do sleep 0.02; done")
	if got := a.says(box, "echo well"); got != "well" {
		t.Errorf("a caller who knew the sandbox is told %q", got)
	}
	if got := a.anew(); got != "well" {
		t.Errorf("a new caller is told %q", got)
	}
	if got := a.says(box, "cat /workspace/heard"); got != "posing" {
		t.Errorf("the impostor says %q", got)
	}
}

// staysUsable starts a sandbox again whose door was made unusable.
func staysUsable(t *testing.T, a *arena) {
	t.Helper()
	a.manager.Close()
	seconds := 10
	if _, err := a.api.ContainerStop(t.Context(), "hermes-"+a.id().Key(), client.ContainerStopOptions{Timeout: &seconds}); err != nil {
		t.Fatal(err)
	}
	if got := a.anew(); got != "well" {
		t.Errorf("after a restart a caller is told %q", got)
	}
}

// anew asks the sandbox as a process does that has not known it.
func (a *arena) anew() string {
	a.t.Helper()
	fresh := *a
	fresh.connect()
	defer fresh.manager.Close()
	found, err := fresh.engine.Find(a.t.Context(), a.id())
	if err != nil {
		a.t.Fatal(err)
	}
	box, err := fresh.manager.Ensure(a.t.Context(), a.id(), found.Spec)
	if err != nil {
		return err.Error()
	}
	defer box.Close()
	return fresh.says(box, "echo well")
}

// beside runs a program in the container that is no command of the sandbox.
func (a *arena) beside(argv ...string) string {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
	defer cancel()
	made, err := a.api.ExecCreate(ctx, "hermes-"+a.id().Key(), client.ExecCreateOptions{Cmd: argv, AttachStdout: true, AttachStderr: true})
	if err != nil {
		a.t.Fatal(err)
	}
	attached, err := a.api.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		a.t.Fatal(err)
	}
	defer attached.Close()
	var out strings.Builder
	if _, err := stdcopy.StdCopy(&out, &out, attached.Reader); err != nil {
		a.t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

// doorOutside is where the daemon says that the directory of the guest's socket is.
func (a *arena) doorOutside() string {
	a.t.Helper()
	for _, m := range a.inspect().Mounts {
		if m.Destination == filepath.Dir(door) {
			return m.Source
		}
	}
	a.t.Fatal("the guest has no door")
	return ""
}
