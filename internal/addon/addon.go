// Package addon gives an agent its opt-in backends on a core that nobody can change: a feature of the list is
// installed at its first use, survives the container, and can only ever add to the core.
//
// The command line and the gateway call it. It joins parts that know nothing of each other: the list of features, the
// gate, the locks, the installer, the check of what was installed, and the store. It decides in which order they are
// asked, and turns every way in which that can fail into one *unavailable.Error.
package addon

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/gate"
	"hermes.example/hermes/internal/addon/npm"
	"hermes.example/hermes/internal/addon/pep508"
	"hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/internal/addon/store"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/internal/config"
)

// Options of a Manager. Zero values mean the real thing.
type Options struct {
	Lookup  config.Lookup
	Environ []string // the caller's environment, of which little reaches the installers
	// Features are what may be installed; nil means the list.
	Features []feature.Feature
	// Locks is the directory of their locks; empty means the runtime's.
	Locks string
	// Confirm asks a person; nil means that nobody is there to be asked, and that the gate's word is enough.
	Confirm func(feature string, missing []string) bool
	// Progress is told how far an install is; may be nil.
	Progress func(Progress)
	// Retry tries again what failed a short while ago.
	Retry bool
	// Offline forbids the network.
	Offline bool
	// Timeout is how long one installer may take; zero means the default.
	Timeout time.Duration
	Log     *slog.Logger
	Now     func() time.Time
}

// Manager answers for all features. It is safe for concurrent use, by any number of processes.
type Manager struct {
	Options
	mu    sync.Mutex
	where *place
}

// New returns a manager. It looks at nothing yet.
func New(o Options) *Manager {
	if o.Features == nil {
		o.Features = feature.All()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	return &Manager{Options: o}
}

// place is a runtime and the store that is for it.
type place struct {
	*sealed.Runtime
	*store.Store
	destination string
	locks       string
	core        string // the digest of the core as it is
}

// at finds the runtime and its store, once for each destination, and again when the runtime was replaced: the settings
// and the core may change while a gateway or a keeper runs. Two who each knew another core would each make the other's
// generation anew, with every call.
func (m *Manager) at(ctx context.Context, destination string) (*place, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.where != nil && m.where.destination == destination && m.where.Unchanged() {
		return m.where, nil
	}
	found, err := sealed.Find(ctx, m.Lookup, filepath.Join(destination, store.Private))
	if err != nil {
		return nil, unavailable.Because(unavailable.NoRuntime, err, "")
	}
	s, err := store.Open(destination, found.ABI, found.Tag, store.Options{Now: m.Now, Warn: func(err error) { m.Log.Warn("left for the next writer", "why", err) }})
	if err != nil {
		return nil, inStore(err)
	}
	m.where = &place{found, s, destination, cmp.Or(m.Locks, found.Locks()), found.Digest()}
	return m.where, nil
}

// inStore says what the store has against something, if it has.
func inStore(err error) error {
	var known *unavailable.Error
	var closed *store.NotWritableError
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &closed):
		return unavailable.NotWritable(closed.Target, closed.Err)
	}
	return unavailable.Because(unavailable.Target, err, "")
}

// find looks a feature up in the list.
func (m *Manager) find(name string) (feature.Feature, error) {
	for _, f := range m.Features {
		if f.Name == name {
			return f, nil
		}
	}
	return feature.Feature{}, unavailable.NotListed(name, feature.Closest(name))
}

// Has says whether a feature is there, without starting anything. One that is not in the list is not.
func (m *Manager) Has(ctx context.Context, name string) bool {
	f, err := m.find(name)
	if err != nil {
		return false
	}
	p, err := m.here(ctx)
	return err == nil && len(p.missing(f)) == 0
}

// missing are the requirements of a feature that neither the store nor the core alone satisfies.
func (p *place) missing(f feature.Feature) []string {
	if p.Has(f.Name, f.Specs) {
		return nil
	}
	if f.Node() { // the core has no packages of npm
		return f.Specs
	}
	return slices.DeleteFunc(slices.Clone(f.Specs), p.inCore)
}

// inCore says whether the core has what a requirement asks for. Whether it has what an extra brings along is not known
// without resolving it.
func (p *place) inCore(spec string) bool {
	r, err := pep508.Parse(spec)
	if err != nil || len(r.Extras) > 0 {
		return false
	}
	version, there := p.Distributions[pep508.Normalize(r.Name)]
	if !there {
		return false
	}
	accepted, err := r.Accepts(version)
	return err == nil && accepted
}

// parse finds out whether a requirement is one.
func parse(f feature.Feature, spec string) (err error) {
	if f.Node() {
		_, err = npm.Parse(spec)
	} else {
		_, err = pep508.Parse(spec)
	}
	return err
}

// refusal is why a feature may not be installed here and now, whatever its lock says; nil means that it may.
func (m *Manager) refusal(p *place, f feature.Feature, missing []string, verdict gate.Verdict) *unavailable.Error {
	if !f.Supports(runtime.GOOS) {
		return unavailable.OnPlatform(runtime.GOOS)
	}
	for _, spec := range missing {
		if err := parse(f, spec); err != nil {
			return unavailable.UnsafeSpec(err)
		}
	}
	if verdict.Refusal != nil {
		return verdict.Refusal
	}
	if f.Node() {
		return m.withoutNode(p, f)
	}
	return gate.AskSource(m.Lookup, p.sources(f))
}
