package docker

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/daemon"
	"hermes.example/hermes/sandbox"
)

// full is a container of which every field says something.
func full() sandbox.Container {
	return sandbox.Container{
		CapAdd: []string{"SYS_PTRACE"}, CapDrop: []string{"CHOWN"}, Privileged: true, NewPrivileges: true, Seccomp: "unconfined", AppArmor: "mine",
		SELinux: []string{"type:t"}, BareSystemPaths: true, Groups: []string{"video"}, Runtime: "runsc",
		Devices: []sandbox.Device{{Source: "/dev/fuse", Target: "/dev/fuse", Access: "rwm"}}, DeviceRules: []string{"c 1:3 r"}, GPUs: &sandbox.GPUs{Count: -1},
		IPC: "host", UTS: "host", UserNS: "host", CgroupNS: "host",
		Network: "team", NetworkAliases: []string{"a"}, IP: "10.0.0.5", IP6: "fd00::5", MAC: "92:d0:c6:0a:29:33",
		Ports: []sandbox.Port{{Address: "127.0.0.1", Host: 8080, Port: 80, Protocol: "tcp"}}, Hosts: []string{"a:10.0.0.1"}, DNS: []string{"9.9.9.9"},
		DNSSearch: []string{"x.org"}, DNSOptions: []string{"ndots:2"}, Hostname: "box", Domainname: "x.org",
		MemorySwap: -1, MemoryReservation: 1 << 20, CPUShares: 512, CPUSet: "0-1", MemorySet: "0", OOMScoreAdj: -1,
		Ulimits: []sandbox.Ulimit{{Name: "rtprio", Soft: 1, Hard: 1}}, CgroupParent: "a/b",
		Volumes: []sandbox.Volume{{Name: "data", Target: "/data"}}, Tmpfs: []sandbox.Tmpfs{{Target: "/scratch", Options: []string{"size=1g"}}}, ReadOnlyRoot: true,
		Sysctls: map[string]string{"net.a": "1"}, Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"a": "b"},
	}
}

// each calls f with containers of which one field says something.
func each(f func(field string, c *sandbox.Container)) {
	all := reflect.ValueOf(full())
	for i := range all.NumField() {
		one := new(sandbox.Container)
		reflect.ValueOf(one).Elem().Field(i).Set(all.Field(i))
		f(all.Type().Field(i).Name, one)
	}
}

var able = abilities{Limits: daemon.Limits{Memory: true, Swap: true, CPUs: true, Pids: true}, driver: "overlay2"}

// described is what a daemon would be asked for.
func described(t *testing.T, name string, can abilities, spec sandbox.Spec) client.ContainerCreateOptions {
	t.Helper()
	api, err := client.New(client.WithHost("unix:///nowhere"))
	if err != nil {
		t.Fatal(err)
	}
	m := &making{engine: &Engine{options: Options{Name: name}, api: api}, id: sandbox.Identity{Home: "/h", Task: "t"}, spec: spec.Normal(), can: can}
	asked, err := m.describe()
	if err != nil {
		t.Fatal(err)
	}
	return asked
}

func TestEveryFieldOfAContainerReachesTheDaemon(t *testing.T) {
	text := func(c *sandbox.Container) string {
		o := described(t, "docker", able, sandbox.Spec{Network: sandbox.NetworkBridge, Container: c})
		for name := range o.Config.Labels {
			if strings.HasPrefix(name, "hermes-") { // they tell the spec, whatever is made of it
				delete(o.Config.Labels, name)
			}
		}
		data, err := json.Marshal(container.CreateRequest{Config: o.Config, HostConfig: o.HostConfig, NetworkingConfig: o.NetworkingConfig})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	seen := map[string]string{text(nil): "nothing"}
	each(func(field string, c *sandbox.Container) {
		if reflect.ValueOf(*c).IsZero() {
			t.Errorf("the test says nothing of %s", field)
		}
		if other, taken := seen[text(c)]; taken {
			t.Errorf("%s makes of the container what %s makes of it", field, other)
		}
		seen[text(c)] = field
	})
}

// defaults are fields whose value is the daemon's own default somewhere, so that it says
// nothing of who asked.
var defaults = []string{"Runtime", "CgroupNS"}

// Whatever a container has is judged as if it had been asked for; what was is not said again.
func TestD26WhatNobodyAskedForIsADeviation(t *testing.T) {
	each(func(field string, c *sandbox.Container) {
		spec := sandbox.Spec{Network: sandbox.NetworkBridge, Container: c}
		made := container.InspectResponse{HostConfig: described(t, "docker", able, spec).HostConfig}
		if twice := unasked(made, spec, made.HostConfig.CapAdd); len(twice) > 0 {
			t.Errorf("%s was asked for, and is said again: %+v", field, twice)
		}
		plain := sandbox.Spec{Network: sandbox.NetworkBridge}
		if got, want := unasked(made, plain, made.HostConfig.CapAdd), spec.Deviations(); !slices.Equal(got, want) && !slices.Contains(defaults, field) {
			t.Errorf("%s: nobody asked for it, and it gives %+v, not %+v", field, got, want)
		}
	})
}

// Podman has words of its own for what is so by default.
func TestWhatPodmanHasIsReadBack(t *testing.T) {
	h := &container.HostConfig{SecurityOpt: []string{"no-new-privileges"}, IpcMode: "shareable", PidMode: "private", UTSMode: "private", Runtime: "oci", NetworkMode: "bridge",
		Resources: container.Resources{Ulimits: []*container.Ulimit{{Name: "RLIMIT_NOFILE", Soft: 1, Hard: 1}}}}
	c := container.InspectResponse{HostConfig: h}
	spec := sandbox.Spec{Network: sandbox.NetworkBridge, Container: &sandbox.Container{CapAdd: []string{"SYS_PTRACE"}}}
	granted := []string{"CAP_CHOWN", "CAP_SYS_PTRACE"}
	if got := unasked(c, spec, granted); len(got) > 0 {
		t.Errorf("it was asked for: %+v", got)
	}
	if got := namespaces(h, spec).Value; got != "mount pid net uts ipc" {
		t.Errorf("its own are %s", got)
	}
	if got := unasked(c, spec, append(granted, "CAP_KILL")); len(got) != 1 || got[0].Name != sandbox.FactCapabilities {
		t.Errorf("what it has more is %+v", got)
	}
}

func TestPodmanIsToldToMaskNothing(t *testing.T) {
	spec := sandbox.Spec{Container: &sandbox.Container{BareSystemPaths: true}}
	h := described(t, "podman", able, spec).HostConfig
	if !slices.Contains(h.SecurityOpt, "unmask=ALL") || h.MaskedPaths != nil {
		t.Errorf("it is told %q", h.SecurityOpt)
	}
	if got := unasked(container.InspectResponse{HostConfig: h}, spec, h.CapAdd); len(got) > 0 {
		t.Errorf("it was asked for: %+v", got)
	}
}

func TestAnOldDaemonIsNotAskedForWhatItWouldLeaveOut(t *testing.T) {
	for _, test := range []struct {
		version, refused string
		c                sandbox.Container
	}{
		{"1.41", "annotations", sandbox.Container{Annotations: map[string]string{"a": "b"}}},
		{"1.43", "", sandbox.Container{Annotations: map[string]string{"a": "b"}}},
		{"1.43", "a MAC address", sandbox.Container{MAC: "92:d0:c6:0a:29:33"}},
		{"1.44", "", sandbox.Container{MAC: "92:d0:c6:0a:29:33"}},
		{"1.24", "", sandbox.Container{Hostname: "a"}},
	} {
		err := tooNew(test.version, &test.c)
		if (err == nil) != (test.refused == "") || err != nil && !strings.Contains(err.Error(), test.refused) {
			t.Errorf("%s: %v, not %q", test.version, err, test.refused)
		}
	}
}

func TestCapabilitiesOfAUserWhoIsSomebody(t *testing.T) {
	spec := sandbox.Spec{User: "5:5", Container: &sandbox.Container{CapAdd: []string{"NET_RAW"}, CapDrop: []string{"CHOWN"}}}
	h := described(t, "docker", able, spec).HostConfig
	if !slices.Equal(h.CapDrop, []string{"ALL"}) || !slices.Equal(h.CapAdd, []string{"DAC_OVERRIDE", "FOWNER", "NET_RAW"}) {
		t.Errorf("it drops %q and adds %q", h.CapDrop, h.CapAdd)
	}
}
