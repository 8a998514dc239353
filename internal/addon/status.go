package addon

import (
	"context"
	"slices"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/gate"
	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/manifest"
)

// State is what a feature is on this machine.
type State string

// The states.
const (
	Core        State = "core"        // the core has all of it
	Installed   State = "installed"   // the store has it
	Outdated    State = "outdated"    // it is wanted, and there for other requirements, another core or another interpreter
	Failed      State = "failed"      // its install failed a short while ago
	Available   State = "available"   // it would be installed at its first use
	Unavailable State = "unavailable" // it cannot be had
)

// FeatureStatus is what there is to say about a feature.
type FeatureStatus struct {
	feature.Feature
	State State `json:"state"`
	// Wanted says that it is rebuilt for another interpreter.
	Wanted bool `json:"wanted"`
	// Lock is where its versions come from; empty where it is not installed and none was shipped.
	Lock    lock.Kind `json:"lock,omitempty"`
	Missing []string  `json:"missing,omitempty"`
	// Sources are the packages of it that have no wheel and are built here.
	Sources []string `json:"built_from_source,omitempty"`
	// Native are the packages of npm that brought compiled code, Scripts those that have some for the time of their
	// installation, which never run.
	Native  []string `json:"native,omitempty"`
	Scripts []string `json:"scripts_not_run,omitempty"`
	Reason  string   `json:"reason,omitempty"`
}

// Status is what there is to say about add-ons here.
type Status struct {
	Target     string `json:"target"`
	Runtime    string `json:"runtime,omitempty"`
	ABI        string `json:"abi,omitempty"`
	Generation string `json:"generation,omitempty"`
	// Outdated says that the generation was made for another core. It can be used.
	Outdated bool            `json:"outdated,omitempty"`
	Features []FeatureStatus `json:"features"`
	// Refusal is why nothing more can be installed; Problem is why nothing can be told.
	Refusal string `json:"refusal,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// Status looks at all features. It fails for nothing: what cannot be found out is in it.
func (m *Manager) Status(ctx context.Context) Status {
	verdict := gate.Ask(m.Lookup)
	s := Status{Target: verdict.Destination}
	if verdict.Refusal != nil {
		s.Refusal = verdict.Refusal.Reason
	}
	p, err := m.at(ctx, verdict.Destination)
	if err != nil {
		s.Problem = reasonOf(err)
		for _, f := range m.Features {
			s.Features = append(s.Features, FeatureStatus{Feature: f, State: Unavailable, Missing: f.Specs, Reason: s.Problem})
		}
		return s
	}
	s.Runtime, s.ABI = p.Root, p.ABI
	var have manifest.Manifest
	if g, err := p.Current(); err == nil {
		s.Generation = g.Digest
		if have, err = g.Manifest(); err != nil {
			s.Problem = err.Error()
		}
	}
	wanted, err := p.Desired()
	if err != nil {
		s.Problem = err.Error()
	}
	unlocked, err := lock.Unlocked(p.locks, p.Tag)
	if err != nil {
		s.Problem = err.Error()
	}
	s.Outdated = s.Generation != "" && !p.ofThisCore()
	for _, f := range m.Features {
		one := m.status(p, f, verdict)
		one.Wanted = slices.Contains(wanted, f.Name)
		one.Native, one.Scripts = native(have, f.Name), p.scripts(f)
		if i := slices.IndexFunc(have.Features, func(h manifest.Feature) bool { return h.Name == f.Name }); i >= 0 {
			one.Lock = have.Features[i].Kind
		} else if p.ships(f) {
			one.Lock = lock.Shipped
		}
		if why, none := unlocked[f.Name]; none && one.State == Available {
			one.State, one.Reason = Unavailable, why
		}
		if one.Wanted && (one.State == Available || one.State == Unavailable) {
			one.State = Outdated
		}
		if one.State == Installed && s.Outdated {
			one.State, one.Reason = Outdated, "it was made for another core; it can be used, and is checked against this one at its next use"
		}
		s.Features = append(s.Features, one)
	}
	return s
}

// ships says whether there is a lock of a feature as the list has it.
func (p *place) ships(f feature.Feature) bool {
	if f.Node() {
		_, refused := p.tree(f)
		return refused == nil
	}
	l, err := lock.Load(p.locks, p.Tag, f.Name)
	return err == nil && l.Current(f.Specs) == nil
}

// status is that of one feature, apart from what is wanted and locked.
func (m *Manager) status(p *place, f feature.Feature, verdict gate.Verdict) FeatureStatus {
	s := FeatureStatus{Feature: f, Missing: p.missing(f), Sources: p.sources(f)}
	failure, failed := p.Failure(f.Name)
	switch refused := m.refusal(p, f, s.Missing, verdict); {
	case len(s.Missing) == 0 && p.Has(f.Name, f.Specs):
		s.State = Installed
	case len(s.Missing) == 0:
		s.State = Core
	case refused != nil:
		s.State, s.Reason = Unavailable, refused.Reason
	case failed:
		s.State, s.Reason = Failed, failure.Reason
	default:
		s.State = Available
	}
	return s
}
