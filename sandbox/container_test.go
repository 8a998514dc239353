package sandbox_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

// full is a container of which every field says something.
func full() sandbox.Container {
	return sandbox.Container{
		CapAdd: []string{"SYS_PTRACE"}, CapDrop: []string{"CHOWN"}, Privileged: true, NewPrivileges: true, Seccomp: "unconfined", AppArmor: "mine",
		SELinux: []string{"disable"}, BareSystemPaths: true, Groups: []string{"video"}, Runtime: "runsc",
		Devices: []sandbox.Device{{Source: "/dev/fuse", Target: "/dev/fuse", Access: "rwm"}}, DeviceRules: []string{"c 1:3 r"}, GPUs: &sandbox.GPUs{Count: -1},
		IPC: "host", UTS: "host", UserNS: "host", CgroupNS: "host",
		Network: "team", NetworkAliases: []string{"a"}, IP: "10.0.0.5", IP6: "fd00::5", MAC: "92:d0:c6:0a:29:33",
		Ports: []sandbox.Port{{Host: 8080, Port: 80, Protocol: "tcp"}}, Hosts: []string{"a:10.0.0.1"}, DNS: []string{"9.9.9.9"}, DNSSearch: []string{"x.org"},
		DNSOptions: []string{"ndots:2"}, Hostname: "box", Domainname: "x.org",
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

func TestD07EveryFieldOfAContainerIsInTheHashAndIsSaid(t *testing.T) {
	hashes := map[string]string{sandbox.Spec{}.Hash(): "nothing"}
	each(func(field string, c *sandbox.Container) {
		if reflect.ValueOf(*c).IsZero() {
			t.Errorf("the test says nothing of %s", field)
		}
		spec := sandbox.Spec{Container: c}
		if other, taken := hashes[spec.Hash()]; taken {
			t.Errorf("%q and %q have the same hash", field, other)
		}
		hashes[spec.Hash()] = field
		if again := spec.Normal(); again.Hash() != spec.Hash() {
			t.Errorf("%q has another hash in its normal form", field)
		}
		for _, diff := range [][]string{sandbox.Spec{}.Difference(spec), spec.Difference(sandbox.Spec{})} {
			if len(diff) != 1 || !strings.HasPrefix(diff[0], "container's ") || !strings.Contains(diff[0], "none") {
				t.Errorf("%q differs by %q", field, diff)
			}
		}
	})
}

// Sandboxes that were made before there were containers keep their hash.
func TestAContainerThatSaysNothingIsNone(t *testing.T) {
	plain := sandbox.Spec{}
	if data, err := json.Marshal(plain.Normal()); err != nil || strings.Contains(string(data), "container") || strings.Contains(string(data), "disk") {
		t.Errorf("the spec is %s, %v", data, err)
	}
	empty := sandbox.Spec{Container: &sandbox.Container{CapAdd: []string{}, Labels: map[string]string{}}}
	if empty.Hash() != plain.Hash() || empty.Normal().Container != nil {
		t.Error("an empty container makes a difference")
	}
}

func TestWhatMeansTheSameInAContainerHasOneHash(t *testing.T) {
	a := sandbox.Container{CapAdd: []string{"NET_RAW", "BPF", "BPF"}, Groups: []string{"b", "a"}, Volumes: []sandbox.Volume{{Name: "v", Target: "/x/"}, {Name: "w", Target: "/a"}},
		Tmpfs: []sandbox.Tmpfs{{Target: "/t/."}}, Ports: []sandbox.Port{{Port: 81, Protocol: "tcp"}, {Port: 80, Protocol: "tcp"}}}
	b := sandbox.Container{CapAdd: []string{"BPF", "NET_RAW"}, Groups: []string{"a", "b"}, Volumes: []sandbox.Volume{{Name: "w", Target: "/a"}, {Name: "v", Target: "/x"}},
		Tmpfs: []sandbox.Tmpfs{{Target: "/t"}}, Ports: []sandbox.Port{{Port: 80, Protocol: "tcp"}, {Port: 81, Protocol: "tcp"}}}
	if (sandbox.Spec{Container: &a}).Hash() != (sandbox.Spec{Container: &b}).Hash() {
		t.Error("two hashes")
	}
	if a.CapAdd[0] != "NET_RAW" || a.Volumes[0].Target != "/x/" || a.Ports[0].Port != 81 {
		t.Errorf("the caller's own was changed: %+v", a)
	}
	// The order of name servers is the order in which they are asked.
	if (sandbox.Spec{Container: &sandbox.Container{DNS: []string{"1.1.1.1", "9.9.9.9"}}}).Hash() == (sandbox.Spec{Container: &sandbox.Container{DNS: []string{"9.9.9.9", "1.1.1.1"}}}).Hash() {
		t.Error("the order of name servers makes no difference")
	}
}

func TestContainersThatCannotBeAreRefused(t *testing.T) {
	for want, c := range map[string]sandbox.Container{
		`"sys_ptrace" is not a capability`: {CapAdd: []string{"sys_ptrace"}},
		`"ALL" is not a capability`:        {CapDrop: []string{"ALL"}},
		"is not a seccomp profile":         {Seccomp: "/etc/profile.json"},
		"is not a part of an SELinux":      {SELinux: []string{"type"}},
		`"a b" is not a group`:             {Groups: []string{"a b"}},
		"is not a rule for devices":        {DeviceRules: []string{"c 1 r"}},
		"either counted or named":          {GPUs: &sandbox.GPUs{}},
		"does not name a GPU":              {GPUs: &sandbox.GPUs{IDs: []string{"a b"}}},
		"is not the path of a device":      {Devices: []sandbox.Device{{Source: "fuse", Target: "/dev/fuse", Access: "r"}}},
		"no way to use":                    {Devices: []sandbox.Device{{Source: "/dev/fuse", Target: "/dev/fuse"}}},
		"not between -1000 and 1000":       {OOMScoreAdj: -1001},
		"two limits nofile":                {Ulimits: []sandbox.Ulimit{{Name: "nofile"}, {Name: "nofile"}}},
		"unknown limit":                    {Ulimits: []sandbox.Ulimit{{Name: "as"}}},
		"not a soft one below a hard one":  {Ulimits: []sandbox.Ulimit{{Name: "nofile", Soft: -1, Hard: 5}}},
		"must not be negative":             {MemorySwap: -2},
		"not the name of a volume":         {Volumes: []sandbox.Volume{{Name: "../x", Target: "/x"}}},
		"belongs to the sandbox":           {Volumes: []sandbox.Volume{{Name: "x", Target: "/proc"}}},
		"two mounts":                       {Volumes: []sandbox.Volume{{Name: "x", Target: "/taken/"}}},
		"contains a colon":                 {Tmpfs: []sandbox.Tmpfs{{Target: "/a:b"}}},
		"unknown option":                   {Tmpfs: []sandbox.Tmpfs{{Target: "/a", Options: []string{"exec,dev"}}}},
		"is not a name for a sysctl":       {Sysctls: map[string]string{"": "1"}},
		"is not a name for a label":        {Labels: map[string]string{"a": "\xff"}},
		"Hermes' own":                      {Labels: map[string]string{"hermes-task-id": "x"}},
		"is not a parent cgroup":           {CgroupParent: "a/../../b"},
		"is not a port to publish":         {Ports: []sandbox.Port{{Port: 80}}},
		"is not a network":                 {Network: "container:"},
	} {
		spec := sandbox.Spec{Network: sandbox.NetworkBridge, Mounts: []sandbox.Mount{{Source: "/a", Target: "/taken"}}, Container: &c}
		if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, not about %q", err, want)
		}
	}
	all := full()
	all.UTS = "" // it excludes a name of its own
	if err := (sandbox.Spec{Network: sandbox.NetworkBridge, Container: &all}).Validate(); err != nil {
		t.Error(err)
	}
	if err := (sandbox.Spec{Network: sandbox.NetworkNone, Container: &sandbox.Container{Network: "team"}}).Validate(); err == nil {
		t.Error("a network within no network was taken")
	}
}

func TestCapabilitiesOfAContainer(t *testing.T) {
	base := sandbox.DefaultCapabilities()
	for name, test := range map[string]struct {
		c         *sandbox.Container
		drop, add []string
	}{
		"none":       {nil, []string{"ALL"}, base},
		"nothing":    {&sandbox.Container{}, []string{"ALL"}, base},
		"some":       {&sandbox.Container{CapAdd: []string{"NET_RAW", "CHOWN"}, CapDrop: []string{"SETUID", "KILL"}}, []string{"ALL"}, []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "NET_RAW", "SETGID"}},
		"everything": {&sandbox.Container{CapAdd: []string{"ALL"}, CapDrop: []string{"SYS_ADMIN"}}, []string{"SYS_ADMIN"}, []string{"ALL"}},
	} {
		drop, add := test.c.Capabilities(base)
		if !slices.Equal(drop, test.drop) || !slices.Equal(add, test.add) {
			t.Errorf("%s: drops %q and adds %q", name, drop, add)
		}
	}
	if !slices.Equal(base, sandbox.DefaultCapabilities()) {
		t.Error("the base was changed")
	}
}

// An engine without containers refuses what it would have to leave out.
func TestNothingOfAContainerIsLeftOutInSilence(t *testing.T) {
	e := newFake()
	m := manage(t, e, sandbox.Options{})
	id := sandbox.Identity{Home: t.TempDir(), Task: "t"}
	_, err := m.Ensure(t.Context(), id, sandbox.Spec{Container: &sandbox.Container{ReadOnlyRoot: true, DNS: []string{"9.9.9.9"}}})
	if err == nil || !strings.Contains(err.Error(), "the fake engine makes no containers") || !strings.Contains(err.Error(), "dns, read only root") {
		t.Errorf("the error is %v", err)
	}
	if _, err := m.Ensure(t.Context(), id, sandbox.Spec{Container: &sandbox.Container{}}); err != nil {
		t.Error(err)
	}
	e.networks = []sandbox.Network{sandbox.NetworkNone, sandbox.NetworkHost}
	_, err = m.Ensure(t.Context(), id, sandbox.Spec{Network: sandbox.NetworkBridge})
	if err == nil || !strings.Contains(err.Error(), `has no network "bridge"`) {
		t.Errorf("the error is %v", err)
	}
}
