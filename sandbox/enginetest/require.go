package enginetest

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

var requireTests = []test{
	{"require/what is enforced can be demanded", requirePossible},
	{"require/what only a trial can show can be demanded", requireTried},
	{"require/an unknown word is refused and nothing is made", requireUnknown},
	{"require/what cannot be enforced is refused and nothing is left", requireImpossible},
	{"require/a demand does not end the sandbox that exists", requireOfExisting},
	{"require/a spec that is wrong makes nothing", wrongSpec},
	{"require/a network that the engine lacks makes nothing", absentNetwork},
	{"require/limits that only containers have make nothing elsewhere", limitsOfContainers},
}

func requirePossible(t *testing.T, s *suite) {
	b := s.box(t, func(spec *sandbox.Spec) {
		spec.Require = []string{sandbox.FactPrivileges, sandbox.FactSeccomp, sandbox.FactCapabilities}
	})
	b.says("echo well", "well")
}

func requireTried(t *testing.T, s *suite) {
	demand := func(spec *sandbox.Spec) { spec.Require = []string{sandbox.FactCalls, sandbox.FactHost} }
	if s.engine.Capabilities().Isolated {
		s.box(t, demand).says("echo well", "well")
		return
	}
	id := s.identity(t)
	var posture *sandbox.PostureError
	if _, err := s.manager.Ensure(bounded(t), id, s.spec(demand)); !errors.As(err, &posture) {
		t.Errorf("the error is %v", err)
	}
	if !s.gone(t, id) {
		t.Error("the sandbox that was made for it is there")
	}
}

func requireUnknown(t *testing.T, s *suite) {
	id := s.identity(t)
	_, err := s.manager.Ensure(bounded(t), id, s.spec(func(spec *sandbox.Spec) { spec.Require = []string{sandbox.FactSeccomp, "magic"} }))
	if err == nil || !strings.Contains(err.Error(), `cannot require "magic"`) || !strings.Contains(err.Error(), sandbox.FactSeccomp) {
		t.Errorf("the error is %v", err)
	}
	s.nothing(t, id)
}

// nothing says whether anything is left of a sandbox that could not be made.
func (s *suite) nothing(t *testing.T, id sandbox.Identity) {
	t.Helper()
	if !s.gone(t, id) {
		t.Error("a sandbox was made")
	}
	if s.config.Traces == nil {
		return
	}
	left := func() []string {
		return slices.DeleteFunc(s.config.Traces(t, s.home, []sandbox.Identity{id}), func(trace string) bool {
			return !strings.Contains(trace, id.Key()) && !strings.Contains(trace, id.Name())
		})
	}
	// Somebody else's sweep may be looking at it, with its lock in hand.
	traces := left()
	for end := time.Now().Add(2 * time.Second); len(traces) > 0 && time.Now().Before(end); traces = left() {
		time.Sleep(10 * time.Millisecond)
	}
	if len(traces) > 0 {
		t.Errorf("left behind: %q", traces)
	}
}

func requireImpossible(t *testing.T, s *suite) {
	id := s.identity(t)
	impossible := s.spec(func(spec *sandbox.Spec) {
		spec.Network, spec.Require = sandbox.NetworkHost, []string{sandbox.FactSeccomp, sandbox.FactNetwork}
	})
	var posture *sandbox.PostureError
	if _, err := s.manager.Ensure(bounded(t), id, impossible); !errors.As(err, &posture) {
		t.Fatalf("the error is %v", err)
	}
	if len(posture.Missing) != 1 || !strings.HasPrefix(posture.Missing[0], "network (") {
		t.Errorf("missing is %q", posture.Missing)
	}
	s.nothing(t, id)
	// Not even the directory of one that had files before is harmed.
	s.ensure(t, s.manager, id, s.spec()).output("echo kept >/workspace/file")
	if err := s.manager.Remove(bounded(t), id, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.manager.Ensure(bounded(t), id, impossible); !errors.As(err, &posture) {
		t.Errorf("the error is %v", err)
	}
	if !s.gone(t, id) {
		t.Error("a sandbox was made")
	}
	s.ensure(t, s.manager, id, s.spec()).says("cat /workspace/file", "kept")
}

func requireOfExisting(t *testing.T, s *suite) {
	host := func(spec *sandbox.Spec) { spec.Network = sandbox.NetworkHost }
	b := s.box(t, host)
	me := b.output(whoami)
	var posture *sandbox.PostureError
	demand := s.spec(host, func(spec *sandbox.Spec) { spec.Require = []string{sandbox.FactNetwork} })
	if _, err := s.another(t, s.engine).Ensure(bounded(t), b.Identity(), demand); !errors.As(err, &posture) {
		t.Errorf("the error is %v", err)
	}
	b.says(whoami, me)
}

func absentNetwork(t *testing.T, s *suite) {
	has := s.engine.Capabilities().Networks
	for _, network := range []sandbox.Network{sandbox.NetworkNone, sandbox.NetworkHost, sandbox.NetworkBridge} {
		if slices.Contains(has, network) {
			continue
		}
		id := s.identity(t)
		_, err := s.manager.Ensure(bounded(t), id, s.spec(func(spec *sandbox.Spec) { spec.Network = network }))
		if err == nil || !strings.Contains(err.Error(), strconv.Quote(string(network))) {
			t.Errorf("the error about the network %q is %v", network, err)
		}
		s.nothing(t, id)
	}
}

func limitsOfContainers(t *testing.T, s *suite) {
	if s.engine.Capabilities().Containers {
		t.Skip("these are containers")
	}
	for _, limits := range []sandbox.Limits{{Disk: 1 << 30}, {SharedMemory: 1 << 20}} {
		id := s.identity(t)
		if _, err := s.manager.Ensure(bounded(t), id, s.spec(func(spec *sandbox.Spec) { spec.Limits = limits })); err == nil || !strings.Contains(err.Error(), "docker engine") {
			t.Errorf("the error about %+v is %v", limits, err)
		}
		s.nothing(t, id)
	}
}

func wrongSpec(t *testing.T, s *suite) {
	for want, change := range map[string]func(*sandbox.Spec){
		"unknown network":      func(spec *sandbox.Spec) { spec.Network = "moon" },
		"is not text":          func(spec *sandbox.Spec) { spec.Env = map[string]string{"A": "\xff"} },
		"is not absolute":      func(spec *sandbox.Spec) { spec.Cwd = "relative" },
		"is not a user":        func(spec *sandbox.Spec) { spec.User = "root" },
		"environment variable": func(spec *sandbox.Spec) { spec.Env = map[string]string{"A=B": ""} },
		"mount source":         func(spec *sandbox.Spec) { spec.Mounts = []sandbox.Mount{{Source: "x", Target: "/x"}} },
		"mount target":         func(spec *sandbox.Spec) { spec.Mounts = []sandbox.Mount{{Source: "/usr", Target: "x"}} },
		"two mounts at": func(spec *sandbox.Spec) {
			spec.Mounts = []sandbox.Mount{{Source: "/usr", Target: "/x"}, {Source: "/bin", Target: "/x/"}}
		},
		"belongs to": func(spec *sandbox.Spec) { spec.Mounts = []sandbox.Mount{{Source: "/usr", Target: "/proc/../dev/x"}} },
	} {
		id := s.identity(t)
		if _, err := s.manager.Ensure(bounded(t), id, s.spec(change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, not about %q", err, want)
		}
		s.nothing(t, id)
	}
}
