package sandbox_test

import (
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

// weakens says of every field of a container which fact it takes from, in the test's
// full example; empty means none.
var weakens = map[string]string{
	"CapAdd": sandbox.FactCapabilities, "CapDrop": "", "Privileged": sandbox.FactIsolation, "NewPrivileges": sandbox.FactPrivileges, "Seccomp": sandbox.FactSeccomp,
	"AppArmor": sandbox.FactIsolation, "SELinux": sandbox.FactIsolation, "BareSystemPaths": sandbox.FactIsolation, "Groups": sandbox.FactIDs, "Runtime": sandbox.FactIsolation,
	"Devices": sandbox.FactHost, "DeviceRules": sandbox.FactHost, "GPUs": sandbox.FactHost,
	"IPC": sandbox.FactNamespaces, "UTS": sandbox.FactNamespaces, "UserNS": sandbox.FactIDs, "CgroupNS": sandbox.FactNamespaces,
	"Network": sandbox.FactNetwork, "NetworkAliases": "", "IP": "", "IP6": "", "MAC": "", "Ports": sandbox.FactNetwork, "Hosts": "", "DNS": "", "DNSSearch": "", "DNSOptions": "",
	"Hostname": "", "Domainname": "",
	"MemorySwap": sandbox.FactMemory, "MemoryReservation": "", "CPUShares": "", "CPUSet": "", "MemorySet": "", "OOMScoreAdj": sandbox.FactMemory, "Ulimits": sandbox.FactCPUs, "CgroupParent": "",
	"Volumes": "", "Tmpfs": "", "ReadOnlyRoot": "", "Sysctls": "", "Labels": "", "Annotations": sandbox.FactIsolation,
}

func TestD26EveryWeakeningOverrideIsADeviation(t *testing.T) {
	each(func(field string, c *sandbox.Container) {
		want, judged := weakens[field]
		if !judged {
			t.Errorf("%s: nobody has judged whether it weakens a sandbox", field)
			return
		}
		deviations := sandbox.Spec{Container: c}.Deviations()
		if want == "" {
			if len(deviations) > 0 {
				t.Errorf("%s: %+v", field, deviations)
			}
			return
		}
		if len(deviations) != 1 || deviations[0].Name != want || deviations[0].Value == "" || deviations[0].Deviation == "" {
			t.Errorf("%s: %+v, not about %q", field, deviations, want)
		}
	})
	if got := (sandbox.Spec{}).Deviations(); len(got) > 0 {
		t.Errorf("the default deviates from itself: %+v", got)
	}
}

func TestWhatIsOtherButNotWeakerIsNoDeviation(t *testing.T) {
	c := sandbox.Container{CapAdd: []string{"SETUID"}, IPC: "private", CgroupNS: "private", MemorySwap: 1 << 30, OOMScoreAdj: 500,
		Ulimits: []sandbox.Ulimit{{Name: "nofile", Soft: 10, Hard: 10}, {Name: "rtprio"}}}
	if got := (sandbox.Spec{Container: &c}).Deviations(); len(got) > 0 {
		t.Errorf("got %+v", got)
	}
}

// What makes a command root of the host says so.
func TestTheWayToTheHostIsNamed(t *testing.T) {
	mount := func(source string) sandbox.Spec {
		return sandbox.Spec{Mounts: []sandbox.Mount{{Source: source, Target: "/x", ReadOnly: true}}}
	}
	socket, files, whole, none := "socket of a container engine", "files of all containers", "whole file system", ""
	for _, test := range []struct {
		spec sandbox.Spec
		want string
	}{
		{mount("/var/run/docker.sock"), socket}, {mount("/run/docker.sock"), socket}, {mount("/run"), socket}, {mount("/var/run/"), socket}, {mount("/var"), socket},
		{mount("/run/podman"), socket}, {mount("/run/user/1000/podman/podman.sock"), socket}, {mount("/run/user/1000"), socket}, {mount("/run/user"), socket}, {mount("/run/user/1000/podman"), socket},
		{mount("/home/a/.docker/run/docker.sock"), socket}, {mount("/x/../run/docker.sock"), socket},
		{mount("/var/lib"), files}, {mount("/var/lib/docker/volumes"), files}, {mount("/var/lib/containers"), files},
		{mount("/"), whole}, {mount("/usr/.."), whole},
		{mount("/home"), none}, {mount("/run/user/1000/app"), none}, {mount("/var/libx"), none}, {mount("/running"), none},
		{sandbox.Spec{Container: &sandbox.Container{CapAdd: []string{"SYS_ADMIN"}}}, "root of the host"},
		{sandbox.Spec{Container: &sandbox.Container{CapAdd: []string{"ALL"}}}, "root of the host"},
		{sandbox.Spec{Container: &sandbox.Container{Privileged: true}}, "root of the host"},
	} {
		got := test.spec.Deviations()
		if test.want == "" {
			if len(got) > 0 {
				t.Errorf("%+v: %+v", test.spec.Mounts, got)
			}
			continue
		}
		if len(got) != 1 || !strings.Contains(got[0].Deviation, test.want) || got[0].Enforced {
			t.Errorf("%+v %+v: %+v, not about %q", test.spec.Mounts, test.spec.Container, got, test.want)
		}
	}
}

// A demand is not met by what an override has left of it, and whoever inspects sees why.
func TestD26AWeakenedFactIsNotEnforced(t *testing.T) {
	e := newFake()
	e.containers = true
	m := manage(t, e, sandbox.Options{})
	id := sandbox.Identity{Home: t.TempDir(), Task: "t"}
	spec := sandbox.Spec{Network: sandbox.NetworkBridge, Container: &sandbox.Container{Seccomp: sandbox.Unconfined, MemorySwap: -1,
		Ports: []sandbox.Port{{Address: "127.0.0.1", Host: 8080, Port: 80, Protocol: "tcp"}}}}
	box, err := m.Ensure(t.Context(), id, spec)
	if err != nil {
		t.Fatal(err)
	}
	_, inspected, err := m.Inspect(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	held, err := box.Posture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, posture := range []sandbox.Posture{inspected, held} {
		for _, want := range []sandbox.Fact{
			{Name: sandbox.FactSeccomp, Deviation: "unconfined: no system call is filtered"},
			{Name: sandbox.FactMemory, Value: "none", Deviation: "swap without a limit: commands can fill the host's swap"},
			{Name: sandbox.FactNetwork, Value: "port 127.0.0.1 8080 → 80/tcp", Deviation: "who reaches the host there reaches the sandbox", Enforced: true},
		} {
			if !slices.Contains(posture.Facts, want) {
				t.Errorf("%+v is not among %+v", want, posture.Facts)
			}
		}
	}
	spec.Require = []string{sandbox.FactSeccomp}
	if _, err := m.Ensure(t.Context(), id, spec); err == nil || !strings.Contains(err.Error(), "no system call is filtered") {
		t.Errorf("the demand was answered with %v", err)
	}
	spec.Container.Seccomp = ""
	if _, err := m.Ensure(t.Context(), sandbox.Identity{Home: id.Home, Task: "other"}, spec); err != nil {
		t.Errorf("a demand that nothing stands against was answered with %v", err)
	}
}
