package enginetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

var driftTests = []test{
	{"drift/an idle sandbox of another spec is replaced", idleIsReplaced},
	{"drift/a busy one is refused with the difference", busyIsRefused},
	{"drift/a background process makes it busy", backgroundIsBusy},
	{"drift/a manager may refuse always", refuseAlways},
	{"drift/each part of the spec counts", eachPartCounts},
	{"drift/an equal spec is no drift", equalSpec},
}

func idleIsReplaced(t *testing.T, s *suite) {
	b := s.box(t)
	me := b.output(whoami + "; echo kept >/workspace/file")
	b.Close()
	changed := s.spec(func(spec *sandbox.Spec) { spec.Env = map[string]string{"NEW": "1"}; spec.Cwd = "/tmp" })
	again := s.ensure(t, s.manager, b.Identity(), changed)
	again.says("echo $NEW $PWD; cat /workspace/file", "1 /tmp\nkept")
	if again.output(whoami) == me {
		t.Error("it is the old sandbox")
	}
}

// refused asks for another spec and returns the difference.
func (s *suite) refused(t *testing.T, id sandbox.Identity, spec sandbox.Spec) string {
	t.Helper()
	_, err := s.another(t, s.engine).Ensure(bounded(t), id, spec)
	var drift *sandbox.DriftError
	if !errors.As(err, &drift) {
		t.Fatalf("the error is %v", err)
	}
	if drift.Task != id.Task || !strings.Contains(err.Error(), strings.Join(drift.Difference, "; ")) {
		t.Errorf("the error is %q", err)
	}
	return strings.Join(drift.Difference, "; ")
}

func busyIsRefused(t *testing.T, s *suite) {
	b := s.box(t)
	me := b.output(whoami)
	changed := s.spec(func(spec *sandbox.Spec) { spec.Limits.Memory = 1 << 30; spec.Cwd = "/usr" })
	if diff := s.refused(t, b.Identity(), changed); !strings.Contains(diff, "memory: 5368709120 → 1073741824") || !strings.Contains(diff, "cwd: /workspace → /usr") {
		t.Errorf("the difference is %q", diff)
	}
	b.says(whoami, me)
	// Also a command without a caller is a use.
	b.output("true")
	other := s.elsewhere(t, errand{Identity: b.Identity(), Spec: s.spec(), Detached: true, Line: "echo ready; until [ -e /tmp/go ]; do sleep 0.02; done"})
	other.reads("ready\n")
	other.kill()
	b.Close()
	s.refused(t, b.Identity(), changed)
	again := s.ensure(t, s.manager, b.Identity(), s.spec())
	again.says(whoami, me)
	again.output(": >/tmp/go")
	again.empties()
	again.Close()
	if s.ensure(t, s.manager, b.Identity(), changed).output(whoami) == me {
		t.Error("it was not replaced when it was idle")
	}
}

func backgroundIsBusy(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("sleep 1000 >/dev/null 2>&1 & echo $! >/tmp/pid")
	b.Close()
	changed := s.spec(func(spec *sandbox.Spec) { spec.Env = map[string]string{"NEW": "1"} })
	s.refused(t, b.Identity(), changed)
	again := s.ensure(t, s.manager, b.Identity(), s.spec())
	again.output("kill $(cat /tmp/pid)")
	again.empties()
	again.Close()
	s.ensure(t, s.manager, b.Identity(), changed).says("echo $NEW", "1")
}

func refuseAlways(t *testing.T, s *suite) {
	b := s.box(t)
	me := b.output(whoami)
	b.Close()
	m := sandbox.NewManager(s.engine, sandbox.Options{NoSweep: true, Refuse: true})
	defer m.Close()
	var drift *sandbox.DriftError
	if _, err := m.Ensure(bounded(t), b.Identity(), s.spec(func(spec *sandbox.Spec) { spec.Cwd = "/" })); !errors.As(err, &drift) {
		t.Errorf("the error is %v", err)
	}
	s.ensure(t, m, b.Identity(), s.spec()).says(whoami, me)
}

func eachPartCounts(t *testing.T, s *suite) {
	b := s.box(t, func(spec *sandbox.Spec) { spec.Env = map[string]string{"TOKEN": "old-value"} })
	for want, change := range map[string]func(*sandbox.Spec){
		"memory":                  func(spec *sandbox.Spec) { spec.Limits.Memory = 2 << 30 },
		"cpus":                    func(spec *sandbox.Spec) { spec.Limits.CPUs = 0.5 },
		"pids":                    func(spec *sandbox.Spec) { spec.Limits.Pids = 99 },
		"network":                 func(spec *sandbox.Spec) { spec.Network = sandbox.NetworkHost },
		"cwd":                     func(spec *sandbox.Spec) { spec.Cwd = "/tmp" },
		"user":                    func(spec *sandbox.Spec) { spec.User = "1000" },
		"ephemeral":               func(spec *sandbox.Spec) { spec.Ephemeral = true },
		"mounts":                  func(spec *sandbox.Spec) { spec.Mounts = []sandbox.Mount{{Source: "/usr", Target: "/mnt"}} },
		"variables":               func(spec *sandbox.Spec) { spec.Env["MORE"] = "1" },
		"the value of a variable": func(spec *sandbox.Spec) { spec.Env["TOKEN"] = "new-value" },
	} {
		if want == "network" && len(s.engine.Capabilities().Networks) == 1 {
			continue // there is no other
		}
		diff := s.refused(t, b.Identity(), s.spec(func(spec *sandbox.Spec) { spec.Env = map[string]string{"TOKEN": "old-value"}; change(spec) }))
		if !strings.HasPrefix(diff, want) || strings.Contains(diff, ";") || strings.Contains(diff, "-value") {
			t.Errorf("the difference is %q, not about %s", diff, want)
		}
	}
}

func equalSpec(t *testing.T, s *suite) {
	b := s.box(t)
	me := b.output(whoami)
	for _, same := range []func(*sandbox.Spec){
		func(spec *sandbox.Spec) { spec.Cwd = sandbox.Workspace },
		func(spec *sandbox.Spec) { spec.Limits.Memory = sandbox.DefaultMemory },
		func(spec *sandbox.Spec) {
			if s.config.Spec.Network == "" {
				spec.Network = s.engine.Capabilities().Networks[0]
			}
		},
		func(spec *sandbox.Spec) { spec.Env = map[string]string{} },
		func(spec *sandbox.Spec) { spec.Mounts = []sandbox.Mount{} },
		func(spec *sandbox.Spec) { spec.Require = []string{sandbox.FactPrivileges} },
	} {
		if _, err := s.another(t, s.engine).Ensure(bounded(t), b.Identity(), s.spec(same)); err != nil {
			t.Error(fmt.Errorf("an equal spec is taken for another: %w", err))
		}
	}
	b.says(whoami, me)
}
