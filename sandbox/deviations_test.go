package sandbox_test

import (
	"reflect"
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
	"Volumes": "", "Tmpfs": "", "ReadOnlyRoot": "", "Sysctls": "", "Labels": "", "Annotations": sandbox.FactIsolation, "NoHealthcheck": "",
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

// A demand is not met by what an override has left of it.
func TestD26AWeakenedFactIsNotEnforced(t *testing.T) {
	posture := sandbox.Posture{Facts: []sandbox.Fact{
		{Name: sandbox.FactSeccomp, Value: "filter", Enforced: true},
		{Name: sandbox.FactNetwork, Value: "bridge", Enforced: true, Deviation: "it has one"},
		{Name: sandbox.FactPrivileges, Value: "yes", Enforced: true},
	}}
	spec := sandbox.Spec{Network: sandbox.NetworkBridge, Container: &sandbox.Container{Seccomp: sandbox.Unconfined, Devices: []sandbox.Device{{Source: "/dev/fuse", Target: "/dev/fuse", Access: "rwm"}},
		Ports: []sandbox.Port{{Address: "127.0.0.1", Host: 8080, Port: 80, Protocol: "tcp"}}}}
	posture.Weaken(spec.Deviations())
	want := []sandbox.Fact{
		{Name: sandbox.FactSeccomp, Value: "filter", Deviation: "unconfined: no system call is filtered"},
		{Name: sandbox.FactNetwork, Value: "bridge", Enforced: true, Deviation: "it has one; port 127.0.0.1 8080 → 80/tcp: who reaches the host there reaches the sandbox"},
		{Name: sandbox.FactPrivileges, Value: "yes", Enforced: true},
		{Name: sandbox.FactHost, Value: "device /dev/fuse", Deviation: "commands use a device of the host"},
	}
	if !reflect.DeepEqual(posture.Facts, want) {
		t.Errorf("the facts are %+v", posture.Facts)
	}
	if err := posture.Check([]string{sandbox.FactPrivileges, sandbox.FactNetwork}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{sandbox.FactSeccomp, sandbox.FactHost} {
		if err := posture.Check([]string{name}); err == nil {
			t.Errorf("%s counts as enforced", name)
		}
	}
	if !slices.ContainsFunc(posture.Deviations(), func(f sandbox.Fact) bool { return f.Name == sandbox.FactHost }) {
		t.Error("the device is not among the deviations")
	}
}
