package docker_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/docker"
	"hermes.example/hermes/test/containers"
)

var errAsked = errors.New("the daemon was asked")

// recall returns a manager that knows the arena's sandbox as a new process does, and to
// which every question to the daemon is an error.
func (a *arena) recall(host string) (*sandbox.Manager, bool) {
	a.t.Helper()
	e, ok := docker.Recall(docker.Options{Name: a.name, Arch: runtime.GOARCH, Host: host}, a.id(), func(context.Context) (sandbox.Engine, error) { return nil, errAsked })
	if !ok {
		return nil, false
	}
	m := sandbox.NewManager(e, sandbox.Options{NoSweep: true})
	a.t.Cleanup(func() { m.Close() })
	return m, true
}

func (a *arena) isRecalled(why string, want bool) {
	a.t.Helper()
	if _, ok := a.recall(a.api.DaemonHost()); ok != want {
		a.t.Errorf("%s: recalled: %t, want %t", why, ok, want)
	}
}

func TestAGuestThatWasMetIsFoundWithoutTheDaemon(t *testing.T) {
	onEachDaemon(t, func(t *testing.T, a *arena) {
		a.isRecalled("nothing there", false)
		box := a.box(containers.Busybox)
		m, ok := a.recall(a.api.DaemonHost())
		if !ok {
			t.Fatal("not recalled")
		}
		again, err := m.Ensure(t.Context(), a.id(), sandbox.Spec{Image: containers.Busybox.In(t, a.api), Network: sandbox.NetworkNone})
		if err != nil {
			t.Fatal(err)
		}
		if here, there := a.says(box, "echo $HOSTNAME; hostname"), a.says(again, "echo $HOSTNAME; hostname"); here != there || here == "" {
			t.Errorf("%q and %q", here, there)
		}
		before, err := a.manager.Find(t.Context(), a.id())
		if err != nil {
			t.Fatal(err)
		}
		after, err := m.Find(t.Context(), a.id())
		if err != nil {
			t.Fatal(err)
		}
		if here, there := encoded(t, before), encoded(t, after); here != there {
			t.Errorf("the daemon says\n%s\nremembered is\n%s", here, there)
		}
		// What its guest cannot tell is the daemon's to say.
		if _, err := m.List(t.Context(), a.home); !errors.Is(err, errAsked) {
			t.Errorf("listed: %v", err)
		}
		if _, err := m.Find(t.Context(), sandbox.Identity{Home: a.home, Task: "other"}); !errors.Is(err, errAsked) {
			t.Errorf("another identity: %v", err)
		}
		if _, err := m.Ensure(t.Context(), a.id(), sandbox.Spec{Image: "another", Network: sandbox.NetworkNone}); err == nil {
			t.Error("it serves as another")
		}
		if _, ok := a.recall("unix:///another/daemon.sock"); ok {
			t.Error("recalled as the sandbox of another daemon")
		}
	})
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAGuestIsRecalledOnlyWhileItIsThere(t *testing.T) {
	onEachDaemon(t, func(t *testing.T, a *arena) {
		box := a.box(containers.Busybox)
		m, ok := a.recall(a.api.DaemonHost())
		if !ok {
			t.Fatal("not recalled")
		}
		name := "hermes-" + a.id().Key()
		try := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := a.api.ContainerPause(t.Context(), name, client.ContainerPauseOptions{})
		try(err)
		a.isRecalled("paused", false)
		if _, err := m.Find(t.Context(), a.id()); !errors.Is(err, errAsked) {
			t.Errorf("paused after it was recalled: %v", err)
		}
		_, err = a.api.ContainerUnpause(t.Context(), name, client.ContainerUnpauseOptions{})
		try(err)
		a.isRecalled("paused no more", true)

		try(box.Close())
		now := 0
		_, err = a.api.ContainerRestart(t.Context(), name, client.ContainerRestartOptions{Timeout: &now})
		try(err)
		a.isRecalled("started again by somebody", false)
		if _, err := m.Attach(t.Context(), a.id()); !errors.Is(err, errAsked) {
			t.Errorf("started again after it was recalled: %v", err)
		}
		a.connect()
		a.box(containers.Busybox)
		a.isRecalled("met again", true)

		_, err = a.api.ContainerRemove(t.Context(), name, client.ContainerRemoveOptions{Force: true})
		try(err)
		a.isRecalled("removed by somebody", false)
	})
}

// Somebody else may have the place of the socket, or the number of the process.
func TestOnlyTheGuestIsTakenForIt(t *testing.T) {
	a := newArena(t, "docker", containers.Docker(t))
	a.box(containers.Busybox)
	run, err := rundir.Find()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(run, a.id().Key()+"-docker", "guest.json")
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for field, value := range map[string]any{"started": 1, "boot": "another", "freezer": "/nonexistent", "host": "", "info": map[string]any{}} {
		var s map[string]any
		if err := json.Unmarshal(written, &s); err != nil {
			t.Fatal(err)
		}
		s[field] = value
		if err := os.WriteFile(path, []byte(encoded(t, s)), 0o600); err != nil {
			t.Fatal(err)
		}
		a.isRecalled("another "+field, false)
	}
	// A door at which another process listens.
	door := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(door, "guest.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var s map[string]any
	if err := json.Unmarshal(written, &s); err != nil {
		t.Fatal(err)
	}
	s["door"] = door
	if err := os.WriteFile(path, []byte(encoded(t, s)), 0o600); err != nil {
		t.Fatal(err)
	}
	m, ok := a.recall(a.api.DaemonHost())
	if !ok {
		t.Fatal("not recalled")
	}
	if _, err := m.Attach(t.Context(), a.id()); !errors.Is(err, errAsked) {
		t.Errorf("another process is taken for the guest: %v", err)
	}
}

// Who cannot ask the daemon cannot make a sandbox anew, and so must not end the one that is there.
func TestASandboxIsNotEndedForOneThatCannotBeMade(t *testing.T) {
	onEachDaemon(t, func(t *testing.T, a *arena) {
		box := a.box(containers.Busybox)
		a.says(box, "echo kept > /tmp/file")
		if err := box.Close(); err != nil {
			t.Fatal(err)
		}
		m, ok := a.recall(a.api.DaemonHost())
		if !ok {
			t.Fatal("not recalled")
		}
		if _, err := m.Ensure(t.Context(), a.id(), sandbox.Spec{Image: "another", Network: sandbox.NetworkNone}); !errors.Is(err, errAsked) {
			t.Errorf("made as another: %v", err)
		}
		if got := a.says(a.box(containers.Busybox), "cat /tmp/file"); got != "kept" {
			t.Errorf("left is %q", got)
		}
	})
}

// Where Docker does not answer any more, Podman takes its place, and has a sandbox of its own.
func TestWhatIsMadeByAnotherDaemonIsUsedThere(t *testing.T) {
	a := newArena(t, "docker", containers.Docker(t))
	other := newArena(t, "podman", containers.Podman(t))
	other.home = a.home
	if err := a.box(containers.Busybox).Close(); err != nil {
		t.Fatal(err)
	}
	e, ok := docker.Recall(docker.Options{Name: a.name, Arch: runtime.GOARCH, Host: a.api.DaemonHost()}, a.id(), func(context.Context) (sandbox.Engine, error) { return other.engine, nil })
	if !ok {
		t.Fatal("not recalled")
	}
	m := sandbox.NewManager(e, sandbox.Options{NoSweep: true})
	t.Cleanup(func() { m.Close() })
	spec := sandbox.Spec{Image: containers.Busybox.In(t, other.api), Network: sandbox.NetworkNone, Env: map[string]string{"MADE": "anew"}}
	for range 2 {
		box, err := m.Ensure(t.Context(), a.id(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := other.says(box, "echo $MADE"); got != "anew" {
			t.Errorf("MADE is %q", got)
		}
		if err := box.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !a.inspect().State.Running {
		t.Error("the one that nobody could ask for was ended")
	}
}

// A daemon that hangs holds nobody up for long who has what he wants.
func TestADaemonThatHangsIsNotWaitedFor(t *testing.T) {
	a := newArena(t, "docker", containers.Docker(t))
	a.box(containers.Busybox)
	asked := make(chan struct{})
	hangs := func(ctx context.Context) (sandbox.Engine, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	e, ok := docker.Recall(docker.Options{Name: a.name, Arch: runtime.GOARCH, Host: a.api.DaemonHost()}, a.id(), hangs)
	if !ok {
		t.Fatal("not recalled")
	}
	m := sandbox.NewManager(e, sandbox.Options{})
	box, err := m.Ensure(t.Context(), a.id(), sandbox.Spec{Image: containers.Busybox.In(t, a.api), Network: sandbox.NetworkNone})
	if err != nil {
		t.Fatal(err)
	}
	<-asked // by the sweep, in the background
	if got := a.says(box, "echo here"); got != "here" {
		t.Errorf("it says %q", got)
	}
	began := time.Now()
	if err := m.Close(); err != nil || time.Since(began) > 3*time.Second {
		t.Errorf("closed with %v after %s", err, time.Since(began))
	}
}

// What is written in a sandbox whose files were removed is lost; the daemon's way says so.
func TestASandboxWhoseDirectoryIsGoneIsNotRecalled(t *testing.T) {
	a := newArena(t, "docker", containers.Docker(t))
	a.box(containers.Busybox)
	if err := os.RemoveAll(filepath.Join(a.home, "sandboxes")); err != nil {
		t.Fatal(err)
	}
	a.isRecalled("its directory is gone", false)
}
