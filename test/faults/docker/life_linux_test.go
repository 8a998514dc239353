package docker

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/test/containers"
)

// processes are those of a task's container, as the daemon sees them from outside.
func (a *arena) processes(task string) []string {
	a.Helper()
	top, err := a.api.ContainerTop(a.context(), a.one(task), client.ContainerTopOptions{Arguments: []string{"-o", "pid,args"}})
	if err != nil {
		a.Fatal(err)
	}
	var all []string
	for _, p := range top.Processes {
		if line := strings.Join(p, " "); !strings.Contains(line, "hermes-guest") {
			all = append(all, line)
		}
	}
	return all
}

// idle waits until the guest knows that nobody uses it.
func (a *arena) idle(task string) {
	a.Helper()
	if !eventually(func() bool {
		st, err := a.manager.StatusOf(a.context(), a.id(task))
		return err == nil && st.Commands == 0 && st.Processes == 0 && st.Connections == 0
	}) {
		a.Fatalf("%q is still in use", task)
	}
}

// tree is a command with children that do not want to end.
const tree = "trap '' TERM HUP INT; (trap '' TERM HUP; setsid sleep 1000 & sleep 1001 & wait) & sleep 1002 & echo ready; wait; wait"

// Nothing of a command is left in the container when its time is over, when it is
// interrupted, or when its caller dies.
func TestD01NothingOfATreeIsLeftInTheContainer(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	box := a.ensure("t")
	a.must(box, "true")
	for name, end := range map[string]func(){
		"timeout": func() {
			if o := a.try(box, sandbox.Command{Line: tree, Timeout: 500 * time.Millisecond, Grace: 100 * time.Millisecond}); o.err != nil || o.Code != 124 || len(o.Survivors) > 0 {
				t.Errorf("it ended with %+v, %v", o.Result, o.err)
			}
		},
		"death of the caller": func() {
			c := send(t, a.errand("t", tree), nil)
			if !reads(c, make([]byte, 6)) || len(a.processes("t")) < 3 {
				t.Errorf("the caller's tree is %q", a.processes("t"))
			}
			c.kill()
		},
	} {
		end()
		if !eventually(func() bool { return len(a.processes("t")) == 0 }) {
			t.Errorf("%s: left are %q", name, a.processes("t"))
		}
	}
}

// A difference is never passed over: what nobody uses is made anew, what somebody uses is
// refused with the difference. For the network this goes both ways.
func TestD08TheNetworkIsComparedBothWays(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	with := func(n sandbox.Network) sandbox.Spec {
		spec := a.spec()
		spec.Network = n
		return spec
	}
	for _, way := range [][2]sandbox.Network{{sandbox.NetworkNone, sandbox.NetworkBridge}, {sandbox.NetworkBridge, sandbox.NetworkNone}} {
		m := a.another()
		box := a.ensureBy(m, "t", with(way[0]))
		done := a.begun(box, sandbox.Command{Line: "echo ready; sleep 1000"})
		before := a.one("t")
		var drift *sandbox.DriftError
		if _, err := a.another().Ensure(a.context(), a.id("t"), with(way[1])); !errors.As(err, &drift) || !strings.Contains(err.Error(), string(way[0])) || !strings.Contains(err.Error(), string(way[1])) {
			t.Errorf("%v while it is used: %v", way, err)
		}
		if a.one("t") != before {
			t.Errorf("%v: what is used was replaced", way)
		}
		m.Close()
		<-done
		a.idle("t")
		a.ensureBy(a.another(), "t", with(way[1])).Close()
		if got := a.inspect(a.one("t")).HostConfig.NetworkMode; string(got) != string(way[1]) || a.one("t") == before {
			t.Errorf("%v: it has the network %s", way, got)
		}
		// Also when it is found stopped, or has to be made anew under a caller.
		r, err := a.api.ContainerStop(a.context(), a.one("t"), client.ContainerStopOptions{})
		do(a, r, err)
		a.must(a.ensureBy(a.another(), "t", with(way[0])), "true")
		if got := a.inspect(a.one("t")).HostConfig.NetworkMode; string(got) != string(way[0]) {
			t.Errorf("%v: found stopped, it has the network %s", way, got)
		}
		if err := a.manager.Remove(a.context(), a.id("t"), false); err != nil {
			t.Fatal(err)
		}
	}
}

// The same of what else a container is made of.
func TestD07WhatAContainerIsMadeOfIsCompared(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	source := t.TempDir()
	for name, one := range map[string]struct {
		change func(*sandbox.Spec)
		shows  func(container.InspectResponse) bool
	}{
		"image": {
			func(s *sandbox.Spec) { s.Image = containers.User.In(t, a.api) },
			func(c container.InspectResponse) bool { return c.Image != a.inspectImage(a.image) },
		},
		"memory": {
			func(s *sandbox.Spec) { s.Limits.Memory = 256 << 20 },
			func(c container.InspectResponse) bool { return c.HostConfig.Memory == 256<<20 },
		},
		"mount": {
			func(s *sandbox.Spec) { s.Mounts = []sandbox.Mount{{Source: source, Target: "/mnt"}} },
			func(c container.InspectResponse) bool {
				return slices.ContainsFunc(c.Mounts, func(m container.MountPoint) bool { return m.Source == source && m.Destination == "/mnt" })
			},
		},
		"user": {
			func(s *sandbox.Spec) { s.User = "1234:5678" },
			func(c container.InspectResponse) bool { return c.Config.User == "1234:5678" },
		},
	} {
		box := a.ensureBy(a.another(), name, a.spec())
		done := a.begun(box, sandbox.Command{Line: "echo ready; sleep 1000"})
		before := a.one(name)
		spec := a.spec()
		one.change(&spec)
		var drift *sandbox.DriftError
		if _, err := a.another().Ensure(a.context(), a.id(name), spec); !errors.As(err, &drift) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s while it is used: %v", name, err)
		}
		box.Close()
		<-done
		a.idle(name)
		a.must(a.ensureBy(a.another(), name, spec), "true")
		if a.one(name) == before || !one.shows(a.inspect(a.one(name))) {
			t.Errorf("%s: it is still what it was", name)
		}
		if err := a.manager.Remove(a.context(), a.id(name), false); err != nil {
			t.Fatal(err)
		}
	}
}

func (a *arena) inspectImage(name string) string {
	a.Helper()
	found, err := a.api.ImageInspect(a.context(), name)
	if err != nil {
		a.Fatal(err)
	}
	return found.ID
}

// Tasks that look alike when they are cleaned for labels have containers and files of
// their own, and so have equal ones of two profiles and two homes.
func TestD09NoTwoIdentitiesShareAContainer(t *testing.T) {
	t.Parallel()
	a, b := newArena(t), newArena(t)
	found := make(map[string]sandbox.Identity)
	long := strings.Repeat("x", 63)
	for _, id := range []sandbox.Identity{
		a.id("a:b"), a.id("a_b"), a.id("a/b"), a.id(long + "1"), a.id(long + "2"), b.id("a_b"),
		{Home: a.home, Profile: "p:q", Task: "a_b"}, {Home: a.home, Profile: "p_q", Task: "a_b"},
	} {
		a.known = append(a.known, id.Normal())
		box, err := a.manager.Ensure(a.context(), id, a.spec())
		if err != nil {
			t.Fatal(err)
		}
		name := a.must(box, "hostname; cat me 2>/dev/null; echo mine > me").out
		if other, taken := found[name]; taken || strings.Contains(name, "mine") {
			t.Errorf("%+v shares %q with %+v", id, name, other)
		}
		found[name] = id
		labels := a.inspect(name).Config.Labels
		for key, value := range labels {
			if strings.HasPrefix(key, "hermes-") && key != "hermes-identity" && key != "hermes-spec" && len(value) > 64 {
				t.Errorf("%+v has the label %s=%s", id, key, value)
			}
		}
	}
}

// Who closes has the removal behind them when it returns, of all that were opened, also of
// holds that were given up before; files of others stay.
func TestD27ClosingRemovesBeforeItReturns(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	a.must(a.ensure("kept"), "echo kept > file; (sleep 1000 >/dev/null 2>&1 & echo $! > pid)")
	short := a.spec()
	short.Ephemeral = true
	source := t.TempDir()
	short.Mounts = []sandbox.Mount{{Source: source, Target: "/bound"}}
	m := sandbox.NewManager(a.engine, sandbox.Options{NoSweep: true})
	for _, task := range []string{"one", "two"} {
		box := a.ensureBy(m, task, short)
		a.must(box, "echo bound > /bound/file; sleep 1000 >/dev/null 2>&1 &")
		if task == "one" {
			box.Close()
		}
	}
	kept := a.ensureBy(m, "kept", a.spec())
	a.must(kept, "true")
	for range 2 { // twice does no harm
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		a.nothingOf("one")
		a.nothingOf("two")
	}
	if left, _ := filepath.Glob(filepath.Join(source, "file")); len(left) != 1 {
		t.Error("what was bound is gone")
	}
	if len(a.processes("kept")) == 0 {
		t.Error("what persists has lost its process")
	}
	a.must(a.ensureBy(a.another(), "kept", a.spec()), "kill -0 $(cat pid)")
	// A removal that is asked for does not mind who uses it, nor that there is none.
	for range 2 {
		if err := a.manager.Remove(a.context(), a.id("kept"), false); err != nil {
			t.Error(err)
		}
		a.nothingOf("kept")
	}
	if a.kept("kept", "file") != "kept\n" {
		t.Error("its files are gone")
	}
}

// Looking makes nothing: neither another container nor another task.
func TestD28LookingMakesNoContainer(t *testing.T) {
	t.Parallel()
	a, p := spoilt(t, false)
	a.must(a.ensure("t"), "true")
	before := asked(p, creating)
	m := a.another()
	if _, err := m.Find(a.context(), a.id("t")); err != nil {
		t.Error(err)
	}
	if _, err := m.Find(a.context(), a.id("none")); !errors.Is(err, sandbox.ErrNotFound) {
		t.Error(err)
	}
	if _, err := m.List(a.context(), a.home); err != nil {
		t.Error(err)
	}
	if _, posture, err := m.Inspect(a.context(), a.id("t")); err != nil || len(posture.Facts) == 0 {
		t.Error(posture, err)
	}
	if _, err := m.StatusOf(a.context(), a.id("t")); err != nil {
		t.Error(err)
	}
	if _, err := m.Attach(a.context(), a.id("none")); !errors.Is(err, sandbox.ErrNotFound) {
		t.Error(err)
	}
	// And who opens what is there, of the same spec, gets that one as it is (nothing is started).
	started := asked(p, "POST /containers/")
	a.must(a.ensureBy(m, "t", a.spec()), "true")
	if asked(p, creating) != before || asked(p, "POST /containers/") != started {
		t.Errorf("it asked for %q", p.Requests())
	}
	a.nothingOf("none")
}
