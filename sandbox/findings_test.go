package sandbox

import (
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/wire"
)

// claimed is what an engine says of a sandbox that is as it should be, and found
// what a process in it then finds.
func claimed() Posture {
	return Posture{Facts: []Fact{
		{Name: FactNamespaces, Value: "user mount pid net", Enforced: true},
		{Name: FactIDs, Value: "range: 0→1000+10 10→5000+5", Enforced: true},
		{Name: FactCapabilities, Value: "CHOWN SETUID", Enforced: true},
		{Name: FactPrivileges, Value: "yes", Enforced: true},
		{Name: FactSeccomp, Value: "filter x", Enforced: true},
		{Name: FactLandlock, Value: "ABI 6", Enforced: true},
		{Name: FactNetwork, Value: "none", Enforced: true},
		{Name: FactRoot, Value: "host programs, read-only", Enforced: true},
		{Name: FactMemory, Value: "1 MiB", Enforced: true},
	}}
}

func found() (wire.Probe, outside) {
	return wire.Probe{
			UIDMap: "         0       1000         10\n        10       5000          5", Capabilities: []string{"CHOWN", "SETUID"},
			NoNewPrivileges: true, Seccomp: true, Landlock: wire.LandlockHolds, Interfaces: []string{"lo"},
			Namespaces: map[string]string{"user": "user:[2]", "mnt": "mnt:[2]", "pid": "pid:[2]", "net": "net:[2]", "uts": "uts:[1]"},
			Mounts: []wire.ProbedMount{
				{System: "0:9", Root: "/", Target: "/"}, {System: "8:1", Root: "/usr", Target: "/usr", ReadOnly: true},
				{System: "8:1", Root: "/w", Target: "/workspace"}, {System: "8:1", Root: "/d", Target: "/dev/null", Device: true},
				{System: "8:1", Root: "/d", Target: "/proc/keys", Device: true},
			},
			Trials: []wire.Trial{{Name: "mount", Refused: true, Answer: "EPERM"}, {Name: "bpf", Refused: true, Answer: "EPERM"}},
		}, outside{
			namespaces: map[string]string{"user": "user:[1]", "mnt": "mnt:[1]", "pid": "pid:[1]", "net": "net:[1]", "uts": "uts:[1]"},
			systems:    map[string]bool{"8:1": true}, rootSystem: "8:1", root: "/",
		}
}

func TestWhatIsFoundAsItWasSetUpIsNoDeviation(t *testing.T) {
	p := claimed()
	inside, out := found()
	p.holdAgainst(inside, out)
	if d := p.Deviations(); len(d) > 0 {
		t.Errorf("deviations: %v", d)
	}
	want := []HostPath{{Path: "/dev/null", Writable: true, Device: true}, {Path: "/usr"}, {Path: "/workspace", Writable: true}}
	if !slices.Equal(p.Host, want) || len(p.Trials) != 2 {
		t.Errorf("visible are %v, tried %v", p.Host, p.Trials)
	}
	for _, f := range p.Facts {
		if f.Name == FactHost && f.Value != "read-only /usr; writable /workspace; devices /dev/null" || f.Name == FactCalls && f.Value != "2 of 2 attempts refused" {
			t.Errorf("%+v", f)
		}
	}
}

func TestD26WhatIsFoundOtherwiseRefutesTheEngine(t *testing.T) {
	for fact, c := range map[string]struct {
		change func(*wire.Probe)
		value  string
	}{
		FactNamespaces:   {func(p *wire.Probe) { p.Namespaces["net"] = "net:[1]" }, "shared with the host: net"},
		FactIDs:          {func(p *wire.Probe) { p.UIDMap = "0 0 4294967295" }, "0→0+4294967295"},
		FactCapabilities: {func(p *wire.Probe) { p.Capabilities = append(p.Capabilities, "SYS_ADMIN") }, "CHOWN SETUID SYS_ADMIN"},
		FactPrivileges:   {func(p *wire.Probe) { p.NoNewPrivileges = false }, "no"},
		FactSeccomp:      {func(p *wire.Probe) { p.Seccomp = false }, "no"},
		FactLandlock:     {func(p *wire.Probe) { p.Landlock = wire.LandlockLacks }, "no"},
		FactNetwork:      {func(p *wire.Probe) { p.Interfaces = []string{"lo", "eth0"} }, "devices eth0"},
		FactRoot:         {func(p *wire.Probe) { p.WritableRoot = []string{"/usr"} }, "writable: /usr"},
		FactHost: {func(p *wire.Probe) {
			p.Mounts = []wire.ProbedMount{{System: "8:1", Root: "/", Target: "/mnt", ReadOnly: true}}
		}, "read-only /mnt"},
		FactCalls: {func(p *wire.Probe) { p.Trials[1].Refused = false }, "1 of 2 attempts refused"},
	} {
		p := claimed()
		inside, out := found()
		c.change(&inside)
		p.holdAgainst(inside, out)
		d := p.Deviations()
		if len(d) != 1 || d[0].Name != fact || d[0].Value != c.value || d[0].Enforced {
			t.Errorf("%s: the deviations are %+v", fact, d)
		}
		if p.Check([]string{fact}) == nil || p.Check([]string{FactMemory}) != nil {
			t.Errorf("%s: the demands are judged wrongly", fact)
		}
	}
}

// A process that spoils its trial cannot make the sandbox look better than it is.
func TestTrialsNeverImproveWhatTheEngineSays(t *testing.T) {
	p := Posture{Facts: []Fact{{Name: FactSeccomp, Value: "none"}, {Name: FactLandlock, Value: "none", Deviation: "no Landlock"}, {Name: FactNetwork, Value: "host", Deviation: "all of it"}}}
	inside, out := found()
	p.holdAgainst(inside, out)
	for _, f := range p.Facts {
		if f.Enforced && f.Name != FactHost && f.Name != FactCalls {
			t.Errorf("%+v", f)
		}
	}
}

func TestManyPathsOfOneDirectoryAreCounted(t *testing.T) {
	var paths []HostPath
	for _, name := range strings.Fields("/dev/null /dev/tty /dev/urandom /dev/zero /usr") {
		paths = append(paths, HostPath{Path: name, Writable: true})
	}
	writable := func(p HostPath) bool { return p.Writable }
	if got, want := summary(paths, writable), "/dev/* (4) /usr"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := summary(paths, func(p HostPath) bool { return !p.Writable }); got != "" {
		t.Errorf("got %q", got)
	}
}
