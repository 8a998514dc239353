package addon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/gate"
	"hermes.example/hermes/internal/addon/unavailable"
)

// remembered is how long a failed install is not tried again by itself.
const remembered = 15 * time.Minute

// Ensured is what came of an ensure.
type Ensured struct {
	Feature string `json:"feature"`
	// Installed says that it was not there before.
	Installed bool `json:"installed"`
	// Generation is the one that has it; empty if the core has all of it.
	Generation string `json:"generation,omitempty"`
	// Outdated is why it is still as it was made for another core; it can be used.
	Outdated string `json:"outdated,omitempty"`
	// LeftOut are other features that are wanted and could not be had for this interpreter, with the reasons.
	LeftOut map[string]string `json:"left_out,omitempty"`
}

// Ensure sees to it that a feature is there. Its error is an *unavailable.Error, unless ctx ended.
func (m *Manager) Ensure(ctx context.Context, name string) (Ensured, error) {
	f, err := m.find(name)
	if err != nil {
		return Ensured{}, err
	}
	// Nobody is asked about what is there: the gate reads a file that may be long, and a call comes by here each time.
	if p, err := m.here(ctx); err == nil && len(p.missing(f)) == 0 && p.settled(f) {
		return p.there(f, false), nil
	}
	verdict := gate.Ask(m.Lookup)
	p, err := m.at(ctx, verdict.Destination)
	if err != nil {
		return Ensured{}, about(f, f.Specs, err)
	}
	missing := p.missing(f)
	if len(missing) == 0 {
		return m.settle(ctx, p, f, verdict), nil
	}
	if refused := m.refusal(p, f, missing, verdict); refused != nil {
		return Ensured{}, refused.For(f.Name, missing)
	}
	if failure, failed := p.Failure(f.Name); failed && !m.Retry {
		return Ensured{}, about(f, missing, recently(failure.Reason, failure.Until.Sub(m.Now())))
	}
	if m.Confirm != nil && !m.Confirm(f.Name, missing) {
		return Ensured{}, unavailable.DeclinedAtPrompt().For(f.Name, missing)
	}
	done, err := m.install(ctx, p, f)
	if err != nil {
		return Ensured{}, about(f, missing, err)
	}
	return done, nil
}

func (p *place) there(f feature.Feature, installed bool) Ensured {
	e := Ensured{Feature: f.Name, Installed: installed}
	if g, err := p.Current(); err == nil && p.Has(f.Name, f.Specs) {
		e.Generation = g.Digest
	}
	return e
}

// about makes an error one about a feature.
func about(f feature.Feature, missing []string, err error) error {
	var known *unavailable.Error
	if errors.As(err, &known) {
		return known.For(f.Name, missing)
	}
	return err
}

// recently is the error of an install that is not tried again yet.
func recently(reason string, left time.Duration) error {
	return unavailable.Because(unavailable.Failed, fmt.Errorf("%s (this was a short while ago, and is tried again by itself in %s)", reason, max(left, time.Second).Round(time.Second)),
		"try it now with --retry")
}

// install builds a generation with one feature more, unless somebody else has done that by the time that it is our turn.
func (m *Manager) install(ctx context.Context, p *place, f feature.Feature) (Ensured, error) {
	m.Progress(Progress{Feature: f.Name, Phase: Waiting})
	w, err := p.Write(ctx)
	if err != nil {
		return Ensured{}, inStore(err)
	}
	defer w.Close()
	if len(p.missing(f)) == 0 && p.ofThisCore() {
		return p.there(f, true), inStore(w.Want(f.Name))
	}
	wanted, err := w.Desired()
	if err != nil {
		return Ensured{}, inStore(err)
	}
	b, err := m.newBuild(p, w)
	if err != nil {
		return Ensured{}, err
	}
	b.about = f.Name
	err = b.run(ctx, append(wanted, f.Name))
	if err != nil {
		if worthRemembering(err) {
			if err := w.Remember(f.Name, reasonOf(err), remembered); err != nil {
				m.Log.Warn("cannot remember that an install failed", "feature", f.Name, "why", err)
			}
		}
		return Ensured{}, err
	}
	if err := w.Forget(f.Name); err != nil {
		m.Log.Warn("cannot forget that an install failed", "feature", f.Name, "why", err)
	}
	e := p.there(f, true)
	e.LeftOut = b.leftOut
	return e, nil
}

// worthRemembering are failures that the next use a moment later would only repeat, and slowly.
func worthRemembering(err error) bool {
	for _, kind := range []unavailable.Kind{unavailable.Failed, unavailable.Rejected, unavailable.NoInstaller, unavailable.Incomplete} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

func reasonOf(err error) string {
	var known *unavailable.Error
	if errors.As(err, &known) {
		return known.Reason
	}
	return err.Error()
}
