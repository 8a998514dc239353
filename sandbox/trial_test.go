package sandbox_test

import (
	"errors"
	"strings"
	"testing"

	"hermes.example/hermes/internal/wire"
	"hermes.example/hermes/sandbox"
)

// What a sandbox was made for, and cannot have, it is not kept for.
func TestSandboxThatFailsItsTrialIsRemoved(t *testing.T) {
	for name, c := range map[string]struct {
		probe func(*fakeBox)
		says  string
	}{
		"refuted": {func(b *fakeBox) { b.probe.Seccomp = false }, "seccomp (found by trial, where the engine had set up"},
		"untried": {func(b *fakeBox) { b.probe = nil }, "cannot try what is enforced: "},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFake()
			e.probe = c.probe
			m := manage(t, e, sandbox.Options{NoSweep: true})
			id := sandbox.Identity{Home: t.TempDir(), Task: "x"}
			var posture *sandbox.PostureError
			_, err := m.Ensure(t.Context(), id, sandbox.Spec{Require: []string{sandbox.FactSeccomp}})
			if !errors.As(err, &posture) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %v", err)
			}
			if len(e.created) != 1 || len(e.removed) != 1 {
				t.Errorf("created %v, removed %v", e.created, e.removed)
			}
			// Without a demand it is made, and the sheet says so.
			if _, err := m.Ensure(t.Context(), id, sandbox.Spec{}); err != nil {
				t.Fatal(err)
			}
			_, p, err := m.Inspect(t.Context(), id)
			if err != nil || len(p.Deviations()) == 0 {
				t.Errorf("the deviations are %v, %v", p.Deviations(), err)
			}
		})
	}
}

func TestPostureNeedsAGuest(t *testing.T) {
	e := newFake()
	id := sandbox.Identity{Home: t.TempDir(), Task: "x"}
	e.add(id, wire.Status{}).gone = true
	m := manage(t, e, sandbox.Options{NoSweep: true})
	if _, _, err := m.Inspect(t.Context(), id); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("the error is %v", err)
	}
}
