package addon

import (
	"slices"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/gate"
	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/manifest"
)

// sources are the packages of a feature's shipped lock that have no wheel. Where no lock is shipped, only wheels are
// considered.
func (p *place) sources(f feature.Feature) []string {
	l, err := lock.Load(p.locks, p.Tag, f.Name)
	if err != nil || l.Current(f.Specs) != nil {
		return nil
	}
	_, sources := lock.Apart(l.Packages)
	return named(sources)
}

func named(packages []lock.Package) (names []string) {
	for _, pkg := range packages {
		names = append(names, pkg.String())
	}
	return names
}

// unbuilt are the packages of a lock that would have to be built now. What was built for the current generation is
// taken over from it: who switches building off does not lose what there is.
func (b *build) unbuilt(l lock.Lock) []string {
	_, sources := lock.Apart(l.Packages)
	kept := b.keeps(sources)
	return named(slices.DeleteFunc(sources, func(pkg lock.Package) bool { return kept[pkg.Name] }))
}

// tools are what packages without a wheel are built with, or nothing where none may be built.
func (b *build) tools() []lock.Package {
	if gate.AskSource(b.Lookup, []string{"any"}) != nil {
		return nil
	}
	l, err := lock.Load(b.locks, b.Tag, lock.BuildTools)
	if err != nil {
		b.Log.Info("nothing can be built from source", "why", err)
		return nil
	}
	return l.Packages
}

// marked are the distributions that were found, with what is known of their packages.
func marked(found []manifest.Distribution, packages []lock.Package) []manifest.Distribution {
	for i, d := range found {
		found[i].Source = slices.ContainsFunc(packages, func(pkg lock.Package) bool { return pkg.Name == d.Name && pkg.Source })
	}
	return found
}
