package docker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/test/containers"
)

// What is given away shows in the posture of a real container, each once, and what
// commands find there is no surprise.
func TestD26OverridesShowOnceInThePosture(t *testing.T) {
	w := onDocker(t)
	box, _ := w.make("plain", contract())
	plain := w.facts(box)
	for name, c := range map[string]*sandbox.Container{
		"rights": {CapAdd: []string{"SYS_PTRACE", "AUDIT_WRITE"}, CapDrop: []string{"CHOWN"}, Seccomp: sandbox.Unconfined, NewPrivileges: true, BareSystemPaths: true, Groups: []string{"5"}},
		"places": {Devices: []sandbox.Device{{Source: "/dev/null", Target: "/dev/nothing", Access: "r"}}, DeviceRules: []string{"c 1:5 r"}, IPC: "host", UTS: "host", CgroupNS: "host",
			Ports: []sandbox.Port{{Address: "127.0.0.1", Port: 80, Protocol: "tcp"}}, MemorySwap: -1, OOMScoreAdj: 10, Ulimits: []sandbox.Ulimit{{Name: "nofile", Soft: 512, Hard: 512}}},
		"everything":  {CapAdd: []string{"ALL"}},
		"privileged":  {Privileged: true},
		"only others": {Hostname: "box", DNS: []string{"9.9.9.9"}, CapDrop: []string{"CHOWN"}, CgroupNS: "private", Labels: map[string]string{"a": "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			spec := contract()
			spec.Container = c
			box, _ := w.make(name, spec)
			facts := w.facts(box)
			said := make(map[string][]string)
			for _, d := range spec.Deviations() {
				said[d.Name] = append(said[d.Name], d.Value+": "+d.Deviation)
				if facts[d.Name].Enforced && !d.Enforced {
					t.Errorf("%s is in force, in spite of %s", d.Name, d.Value)
				}
			}
			for name, f := range facts {
				if name == sandbox.FactCalls {
					continue // what is found there follows from the others
				}
				want := said[name]
				if before := plain[name].Deviation; before != "" {
					want = append([]string{before}, want...)
				}
				if f.Deviation != strings.Join(want, "; ") {
					t.Errorf("%s: %q, not %q", name, f.Deviation, want)
				}
			}
		})
	}
}

// An override counts when something is demanded.
func TestD26ADemandIsNotMetByWhatAnOverrideLeaves(t *testing.T) {
	w := onDocker(t)
	spec := sandbox.Spec{Image: containers.Busybox.In(t, w.api), Container: &sandbox.Container{Seccomp: sandbox.Unconfined}, Require: []string{sandbox.FactSeccomp}}
	_, err := w.manager.Ensure(t.Context(), w.id("t"), spec)
	if _, refused := errors.AsType[*sandbox.PostureError](err); !refused || len(w.left()) > 0 {
		t.Errorf("the error is %v, and %d containers are left", err, len(w.left()))
	}
}

// Case 15.
func TestAHalfMadeContainerIsRemovedOnce(t *testing.T) {
	api := containers.Docker(t)
	p := containers.NewProxy(t, api)
	w := newWorkshop(t, api, p.Client())
	w.make("before", sandbox.Spec{}) // so that nothing but the sandbox itself is made below
	began := len(p.Requests())
	p.Inject(containers.Fault{On: "POST /containers/create", Answer: true, Status: 500, Message: "spoilt", Times: 1})
	_, err := w.manager.Ensure(t.Context(), w.id("t"), sandbox.Spec{Image: containers.Busybox.In(t, api)})
	if err == nil || !strings.Contains(err.Error(), "spoilt") {
		t.Errorf("the error is %v", err)
	}
	w.expectOne("before")
	if n := removals(p.Requests()[began:]); n != 1 {
		t.Errorf("%d removals in %q", n, p.Requests()[began:])
	}
}

// Case 16.
func TestAContainerThatTakesTooLongIsRemovedOnce(t *testing.T) {
	api := containers.Docker(t)
	p := containers.NewProxy(t, api)
	w := newWorkshop(t, api, p.Client())
	w.make("before", sandbox.Spec{})
	for name, fault := range map[string]containers.Fault{
		"the creation": {On: "POST /containers/create", Answer: true, Hang: true, Times: 1},
		"the start":    {On: "POST /containers/[0-9a-f]+/start", Answer: true, Hang: true, Times: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			defer p.Heal()
			began := len(p.Requests())
			p.Inject(fault)
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			_, err := w.manager.Ensure(ctx, w.id("t"), sandbox.Spec{Image: containers.Busybox.In(t, api)})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the error is %v", err)
			}
			w.expectOne("before")
			if n := removals(p.Requests()[began:]); n != 1 {
				t.Errorf("%d removals in %q", n, p.Requests()[began:])
			}
		})
	}
}

// expectOne says what else is there than the sandbox of a task.
func (w *workshop) expectOne(task string) {
	w.Helper()
	for _, c := range w.left() {
		if c.ID != w.inspect(task).ID {
			w.Errorf("%s is left: %s", c.Names, c.Status)
		}
	}
}

func removals(requests []string) int {
	return len(slices.DeleteFunc(slices.Clone(requests), func(r string) bool { return !strings.HasPrefix(r, "DELETE /containers/") }))
}

// A full directory in memory does not brick the sandbox.
func TestD30AFullTmpLeavesRoomForCommands(t *testing.T) {
	w := onDocker(t)
	for name, spec := range map[string]sandbox.Spec{"kept": {}, "ephemeral": {Ephemeral: true}} {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			spec.Limits.Memory = 64 << 20
			box, _ := w.make(name, spec)
			for _, dir := range []string{"/tmp", "/var/tmp", "/run", "/dev/shm", "/root", "/workspace", "/home"} {
				if name == "kept" && (dir == "/root" || dir == "/workspace" || dir == "/home") {
					continue // on the host's disk
				}
				if out, res := w.run(box, "dd if=/dev/zero of="+dir+"/fill bs=64k"); res.Code != 1 || !strings.Contains(out, "No space left") {
					t.Errorf("%s is full: %d %s", dir, res.Code, out)
				}
			}
			if out, res := w.run(box, "ls / >/dev/null && rm /tmp/fill && echo yes"); out != "yes" {
				t.Errorf("the next command: %q %+v", out, res)
			}
		})
	}
}

// A network that somebody made, and an address in it.
func TestANamedNetwork(t *testing.T) {
	w := onDocker(t)
	name := w.network("10.213.77.0/24")
	c := &sandbox.Container{Network: name, IP: "10.213.77.9", NetworkAliases: []string{"agent"}, Hosts: []string{"db:10.9.9.9"}, DNS: []string{"10.213.77.1"}}
	box, made := w.make("t", sandbox.Spec{Network: sandbox.NetworkBridge, Container: c})
	endpoint := made.NetworkSettings.Networks[name]
	if string(made.HostConfig.NetworkMode) != name || endpoint == nil || endpoint.IPAddress.String() != "10.213.77.9" || !slices.Contains(endpoint.Aliases, "agent") {
		t.Errorf("it is in %s as %+v", made.HostConfig.NetworkMode, endpoint)
	}
	if out, _ := w.run(box, "grep -c db /etc/hosts"); out != "1" {
		t.Errorf("commands know %q", out)
	}
	if f := w.facts(box)[sandbox.FactNetwork]; strings.Count(f.Deviation, "reach whatever else is in it") != 1 {
		t.Errorf("%+v", f)
	}
}
