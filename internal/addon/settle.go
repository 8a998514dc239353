package addon

import (
	"context"
	"slices"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/gate"
)

// settle does what is left to do about a feature that is there and not settled. One that the store has is wanted from
// now on, and one that was checked against another core is checked against this one: the image was replaced, and the
// volume stayed. Neither is needed for the feature to be used, so that neither can make it fail: an earlier generation
// never answers for a name that the core has now.
func (m *Manager) settle(ctx context.Context, p *place, f feature.Feature, verdict gate.Verdict) Ensured {
	why := ""
	if failure, failed := p.Failure(f.Name); verdict.Refusal != nil {
		why = verdict.Refusal.Reason
	} else if failed && !m.Retry {
		why = failure.Reason
	} else {
		done, err := m.install(ctx, p, f)
		if err == nil {
			done.Installed = false
			return done
		}
		why = reasonOf(err)
	}
	as := p.there(f, false)
	if !p.ofThisCore() {
		as.Outdated = why
	}
	return as
}

// settled says that there is nothing left to do about a feature that is there. What the core has whole is nobody's wish.
func (p *place) settled(f feature.Feature) bool {
	if !p.Has(f.Name, f.Specs) {
		return true
	}
	wanted, err := p.Desired()
	return err == nil && slices.Contains(wanted, f.Name) && p.ofThisCore()
}

// ofThisCore says whether the current generation was checked against the core as it is.
func (p *place) ofThisCore() bool {
	g, err := p.Current()
	if err != nil {
		return false
	}
	core, err := g.Core()
	return err == nil && core == p.core
}
