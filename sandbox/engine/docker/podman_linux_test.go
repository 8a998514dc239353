package docker_test

import (
	"maps"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/test/containers"
)

func onPodman(t testing.TB) *workshop {
	t.Helper()
	api := containers.Podman(t)
	return workshopOf(t, "podman", api, api)
}

// Podman enforces by default what Docker does, and its own words for it are understood.
func TestPodmanHardensTheSame(t *testing.T) {
	w := onPodman(t)
	spec := contract()
	spec.Network = sandbox.NetworkNone
	box, c := w.make("default", spec)
	if !isGuest(c) {
		t.Errorf("PID 1 is %s", c.Path)
	}
	facts := w.facts(box)
	for name, f := range facts {
		if f.Deviation != "" && name != sandbox.FactIDs {
			t.Errorf("%+v", f)
		}
	}
	values := map[string]string{}
	for _, name := range []string{sandbox.FactCapabilities, sandbox.FactPrivileges, sandbox.FactMemory, sandbox.FactCPUs, sandbox.FactPids} {
		values[name] = facts[name].Value
	}
	want := map[string]string{sandbox.FactCapabilities: "CHOWN DAC_OVERRIDE FOWNER SETGID SETUID", sandbox.FactPrivileges: "yes", sandbox.FactMemory: "5120 MiB", sandbox.FactCPUs: "1", sandbox.FactPids: "256"}
	if !maps.Equal(values, want) {
		t.Errorf("it has %v", values)
	}
	if out, _ := w.run(box, "cp /bin/busybox /tmp/true && /tmp/true && echo yes"); out != "yes" {
		t.Errorf("a program in /tmp: %s", out)
	}
}

func TestD26OverridesOfPodmanShowOnce(t *testing.T) {
	w := onPodman(t)
	plain := contract()
	plain.Network = sandbox.NetworkNone
	spec := plain
	spec.Limits.Disk = 1 << 30
	spec.Container = &sandbox.Container{CapAdd: []string{"SYS_PTRACE"}, CapDrop: []string{"CHOWN"}, NewPrivileges: true, BareSystemPaths: true, IPC: "host",
		Ulimits: []sandbox.Ulimit{{Name: "nofile", Soft: 512, Hard: 512}, {Name: "nproc", Soft: 512, Hard: 512}}}
	box, _ := w.make("t", spec)
	facts := w.facts(box)
	for _, d := range spec.Deviations() {
		if f := facts[d.Name]; strings.Count(f.Deviation, d.Value+": ") != 1 || f.Enforced && !d.Enforced || strings.Contains(f.Deviation, "nobody asked") || strings.Contains(f.Deviation, "found by trial") {
			t.Errorf("%+v, of %s", f, d.Value)
		}
	}
	if f := facts[sandbox.FactDisk]; f.Enforced || !strings.Contains(f.Deviation, "1024 MiB was asked for; ") {
		t.Errorf("%+v", f)
	}
	if out, _ := w.run(box, "ulimit -n; mount | grep -c 'tmpfs on /proc'; mount | grep -c 'proc on /proc/sys '"); out != "512\n0\n0" {
		t.Errorf("commands find %q", out)
	}
}
