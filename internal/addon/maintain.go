package addon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"hermes.example/hermes/internal/addon/gate"
	"hermes.example/hermes/internal/addon/store"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/internal/config"
)

// ErrEmpty says that nothing was ever installed for this interpreter.
var ErrEmpty = errors.New("nothing is installed for this interpreter")

// here is the place that the settings lead to, whether or not something may be installed there.
func (m *Manager) here(ctx context.Context) (*place, error) {
	destination, _, err := config.AddOnStore(m.Lookup)
	if err != nil {
		return nil, unavailable.Because(unavailable.Target, err, "")
	}
	return m.at(ctx, destination)
}

// writing does something as the one writer of the store.
func (m *Manager) writing(ctx context.Context, do func(*place, *store.Writer) error) error {
	p, err := m.here(ctx)
	if err != nil {
		return err
	}
	w, err := p.Write(ctx)
	if err != nil {
		return inStore(err)
	}
	defer w.Close()
	return do(p, w)
}

// current is the generation in use.
func (p *place) current() (store.Generation, error) {
	g, err := p.Current()
	if errors.Is(err, fs.ErrNotExist) {
		return g, ErrEmpty
	}
	return g, inStore(err)
}

// Remove builds a generation without some features, which are not wanted from then on. No network is needed for it.
func (m *Manager) Remove(ctx context.Context, names ...string) error {
	return m.writing(ctx, func(p *place, w *store.Writer) error {
		wanted, err := w.Desired()
		if err != nil {
			return inStore(err)
		}
		b, err := m.newBuild(p, w)
		if err != nil {
			return err
		}
		for _, name := range names {
			// One that was killed at this may have left it installed and no longer wanted.
			if !slices.Contains(wanted, name) && !slices.Contains(b.current.Names(), name) {
				return fmt.Errorf("cannot remove %s: it is not installed", name)
			}
		}
		rest := slices.DeleteFunc(wanted, func(name string) bool { return slices.Contains(names, name) })
		if err := b.run(ctx, rest); err != nil {
			return err
		}
		return w.SetDesired(rest)
	})
}

// Rollback makes the generation before this one current again.
func (m *Manager) Rollback(ctx context.Context) (g store.Generation, err error) {
	err = m.writing(ctx, func(p *place, w *store.Writer) error {
		g, err = w.Rollback(ctx)
		if errors.Is(err, store.ErrNoEarlier) {
			return err
		}
		return inStore(err)
	})
	return g, err
}

// Verify compares every file of the current generation with what was published.
func (m *Manager) Verify(ctx context.Context) (store.Generation, []store.Problem, error) {
	p, err := m.here(ctx)
	if err != nil {
		return store.Generation{}, nil, err
	}
	g, err := p.current()
	if err != nil {
		return g, nil, err
	}
	problems, err := p.Store.Verify(ctx, g)
	return g, problems, err
}

// Generations are those of this interpreter.
func (m *Manager) Generations(ctx context.Context) ([]store.Listed, error) {
	p, err := m.here(ctx)
	if err != nil {
		return nil, err
	}
	return p.List()
}

// SBOM is the bill of materials of the current generation.
func (m *Manager) SBOM(ctx context.Context) ([]byte, error) {
	p, err := m.here(ctx)
	if err != nil {
		return nil, err
	}
	g, err := p.current()
	if err != nil {
		return nil, err
	}
	return g.SBOM()
}

// Rebuild installs everything that is wanted for this interpreter again, from the cache where it can, and takes
// nothing over from the current generation.
func (m *Manager) Rebuild(ctx context.Context) (leftOut map[string]string, err error) {
	verdict := gate.Ask(m.Lookup)
	if verdict.Refusal != nil {
		return nil, verdict.Refusal
	}
	err = m.writing(ctx, func(p *place, w *store.Writer) error {
		wanted, err := w.Desired()
		if err != nil {
			return inStore(err)
		}
		b, err := m.newBuild(p, w)
		if err != nil {
			return err
		}
		b.anew = true
		if err := b.run(ctx, wanted); err != nil {
			return err
		}
		leftOut = b.leftOut
		return w.Forget(wanted...)
	})
	return leftOut, err
}

// Outcome is what came of refreshing one feature.
type Outcome struct {
	Feature string `json:"feature"`
	// Result is "current", "refreshed", "skipped" or "failed".
	Result string `json:"result"`
	Reason string `json:"reason,omitempty"`
}

// Refresh sees to it that all features that are wanted are there as the list has them now and as the core is: after an
// update, or for another interpreter. It reports and never fails.
func (m *Manager) Refresh(ctx context.Context) (all []Outcome) {
	p, err := m.here(ctx)
	if err != nil {
		return nil
	}
	wanted, err := p.Desired()
	if err != nil {
		m.Log.Warn("cannot read which features are wanted", "why", err)
	}
	before := make(map[string]bool)
	for _, name := range wanted {
		before[name] = m.Has(ctx, name) && p.ofThisCore()
	}
	for _, name := range wanted {
		done, err := m.Ensure(ctx, name)
		switch {
		case err == nil && done.Outdated != "":
			all = append(all, Outcome{name, "failed", done.Outdated})
		case err == nil && before[name]:
			all = append(all, Outcome{Feature: name, Result: "current"})
		case err == nil:
			all = append(all, Outcome{Feature: name, Result: "refreshed"})
		case errors.Is(err, unavailable.Disabled), errors.Is(err, unavailable.Declined), errors.Is(err, unavailable.Unsupported), errors.Is(err, unavailable.Unknown):
			all = append(all, Outcome{name, "skipped", reasonOf(err)})
		default:
			all = append(all, Outcome{name, "failed", reasonOf(err)})
		}
	}
	return all
}
