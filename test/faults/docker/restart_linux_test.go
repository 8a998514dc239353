package docker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/docker"
	"hermes.example/hermes/test/containers"
)

// Containers live on without their daemon. What has a socket does not even notice;
// what passes through the daemon waits for it, and nothing is lost or run twice.
func TestDaemonRestartedUnderLivingContainers(t *testing.T) {
	t.Parallel()
	private := containers.PrivateDocker(t, "--live-restore")
	for _, bridge := range []bool{false, true} {
		t.Run(fmt.Sprintf("bridge %v", bridge), func(t *testing.T) {
			a := newArenaAt(t, private.Client(), private.Host, bridge)
			box := a.ensure("t")
			before := a.one("t")
			// Between commands.
			a.must(box, "echo layer > /layer")
			private.Stop()
			if bridge {
				if o := a.try(box, sandbox.Command{Line: "echo no >> ran"}); o.err == nil && o.Reason == sandbox.Exited {
					t.Errorf("it ran without a way to it: %+v", o.Result)
				}
			} else if out := a.must(box, "cat /layer").out; out != "layer" {
				t.Errorf("it says %q", out)
			}
			if _, err := a.another().Ensure(a.context(), a.id("u"), a.spec()); !errors.Is(err, docker.ErrDaemon) || !strings.Contains(err.Error(), "start it") {
				t.Errorf("without a daemon the error is %v", err)
			}
			private.Start()
			if o := a.must(box, "cat /layer"); o.out != "layer" || o.Recreated {
				t.Errorf("it says %q, recreated %v", o.out, o.Recreated)
			}
			// During one.
			for _, end := range []func(){private.Stop, private.Kill} {
				a.must(box, "rm -f go ran")
				done := a.begun(box, sandbox.Command{Line: "echo ran >> ran; echo ready; while [ ! -e go ]; do sleep 0.02; done; echo end; exit 3"})
				end()
				if err := os.WriteFile(filepath.Join(a.home, "sandboxes/docker/t/workspace/go"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
				private.Start()
				if o := <-done; o.err != nil || o.Code != 3 || o.out != "ready\nend\n" || o.Missed != 0 {
					t.Errorf("it ended with %+v, %v: %q", o.Result, o.err, o.out)
				}
				if ran := a.kept("t", "ran"); ran != "ran\n" {
					t.Errorf("it ran %q", ran)
				}
			}
			if a.one("t") != before {
				t.Error("it is another container")
			}
		})
	}
}

// A daemon that ends its containers with it loses what ran in them, once, and gives back
// what was written.
func TestDaemonRestartedWithItsContainers(t *testing.T) {
	t.Parallel()
	private := containers.PrivateDocker(t)
	for _, bridge := range []bool{false, true} {
		t.Run(fmt.Sprintf("bridge %v", bridge), func(t *testing.T) {
			a := newArenaAt(t, private.Client(), private.Host, bridge)
			box := a.ensure("t")
			before := a.one("t")
			a.must(box, "echo layer > /layer")
			private.Stop()
			private.Start()
			if o := a.must(box, "cat /layer"); o.out != "layer" || !o.Recreated {
				t.Errorf("it says %q, recreated %v", o.out, o.Recreated)
			}
			done := a.begun(box, sandbox.Command{Line: "echo ran >> ran; echo ready; sleep 1000", ID: "once"})
			private.Stop()
			private.Start()
			if o := <-done; o.err != nil || o.Reason != sandbox.Lost {
				t.Errorf("it ended with %+v, %v", o.Result, o.err)
			}
			if o := a.must(box, "cat ran /layer"); o.out != "ran\nlayer" {
				t.Errorf("it says %q", o.out)
			}
			if o := a.try(box, sandbox.Command{Line: "echo ran >> ran", ID: "once"}); o.err != nil || o.Reason != sandbox.Lost {
				t.Errorf("under its id again it ended with %+v, %v", o.Result, o.err)
			}
			if ran := a.kept("t", "ran"); ran != "ran\n" || a.one("t") != before {
				t.Errorf("it ran %q", ran)
			}
		})
	}
	t.Run("reboot", func(t *testing.T) { afterReboot(t, private) })
	t.Run("reaper", func(t *testing.T) { reapedByAge(t, private) })
}

// After a reboot all containers are stopped, and what was in memory is gone: sockets,
// locks, and what said how guests are reached.
func afterReboot(t *testing.T, private *containers.Private) {
	a := newArenaAt(t, private.Client(), private.Host, false)
	tasks := []string{"a", "b", "c"}
	for _, task := range tasks {
		a.must(a.ensure(task), "echo "+task+" > /layer; echo "+task+" > file; sleep 1000 >/dev/null 2>&1 &")
	}
	short := a.spec()
	short.Ephemeral = true
	a.must(a.ensureBy(a.another(), "short", short), "true")
	private.Kill() // the machine's end is no orderly one
	for _, task := range tasks {
		if err := os.RemoveAll(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "hermes", a.id(task).Key()+"-docker")); err != nil {
			t.Fatal(err)
		}
	}
	private.Start()
	engine, err := newEngine(a.host, false)
	if err != nil {
		t.Fatal(err)
	}
	m := sandbox.NewManager(engine, sandbox.Options{NoSweep: true})
	defer m.Close()
	infos, err := m.List(a.context(), a.home)
	if err != nil || len(infos) != len(tasks) {
		t.Errorf("listed are %d, %v", len(infos), err)
	}
	for _, info := range infos {
		if info.State != sandbox.Stopped {
			t.Errorf("%s is %s", info.Identity.Task, info.State)
		}
	}
	for _, task := range tasks {
		before := a.one(task)
		if o := a.must(a.ensureBy(m, task, a.spec()), "cat /layer file"); o.out != task+"\n"+task || a.one(task) != before {
			t.Errorf("%s says %q", task, o.out)
		}
	}
	if !eventually(func() bool { return len(a.containers("short")) == 0 }) {
		t.Error("the ephemeral one is still there")
	}
}
