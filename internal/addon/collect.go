package addon

import (
	"context"
	"slices"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/store"
)

// Collected is what became of what nobody needs.
type Collected struct {
	store.Collected
	// Cache is by how many bytes the installer's cache is smaller.
	Cache int64
}

// Collect removes generations that nobody needs, and then what the installer's cache has for none of those that stay and
// for no feature that is wanted. As long as it takes nobody installs.
func (m *Manager) Collect(ctx context.Context, c store.Collect) (done Collected, err error) {
	err = m.writing(ctx, func(p *place, w *store.Writer) error {
		if done.Collected, err = w.GC(ctx, c); err != nil {
			return inStore(err)
		}
		b := &build{Manager: m, place: p, writer: w}
		wanted, err := w.Desired()
		if err != nil {
			return inStore(err)
		}
		done.Cache, err = b.installer().Prune(ctx, b.needed(wanted), b.neededOfNPM(wanted))
		return err
	})
	return done, err
}

// needed are the packages of all generations that there are, and of the locks of what is wanted.
func (b *build) needed(wanted []string) (keep []lock.Package) {
	for _, m := range b.writer.Manifests() {
		for _, d := range m.Distributions {
			keep = append(keep, d.Package())
		}
		// What is resolved again without a network has to know what the core's share of it needs.
		for _, f := range m.Features {
			for name, version := range f.Core {
				keep = append(keep, lock.Package{Name: name, Version: version})
			}
		}
	}
	for _, name := range wanted {
		if l, err := lock.Load(b.locks, b.Tag, name); err == nil {
			keep = append(keep, l.Packages...)
		}
	}
	if slices.ContainsFunc(keep, func(p lock.Package) bool { return p.Source }) {
		keep = append(keep, b.tools()...)
	}
	return keep
}
