package addon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/gate"
	"hermes.example/hermes/internal/addon/install"
	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/manifest"
	"hermes.example/hermes/internal/addon/unavailable"
)

// part is what one feature brings into a generation.
type part struct {
	feature.Feature
	lock lock.Lock // without what the core has
	core []string  // which that is
	tree lock.Tree // in the place of both, if npm brings it
}

// plan says what the next generation is to hold: a part for each feature, the packages of all of them, and those of
// them that the current generation has already.
type plan struct {
	parts    []part
	packages []lock.Package
	kept     map[string]bool // by name
	// keptTrees are the features of npm whose packages the current generation has already.
	keptTrees map[string]bool
}

// missing are the packages that the installer has to bring.
func (p plan) missing() []lock.Package {
	return slices.DeleteFunc(slices.Clone(p.packages), func(pkg lock.Package) bool { return p.kept[pkg.Name] })
}

// plan finds the locks of all features that are wanted. The one that it is about has to be had; another one that
// cannot be had is left out, and stays wanted.
func (b *build) plan(ctx context.Context, wanted []string) (p plan, err error) {
	slices.Sort(wanted)
	var locks []lock.Lock
	for _, name := range slices.Compact(wanted) {
		part, err := b.part(ctx, name)
		if err != nil && (name == b.about || ctx.Err() != nil) {
			return plan{}, err
		}
		if err != nil {
			b.leaveOut(name, err)
			continue
		}
		p.parts = append(p.parts, part)
		locks = append(locks, part.lock)
	}
	if p.packages, err = lock.Union(locks...); err != nil {
		return plan{}, conflicting(err)
	}
	p.kept, p.keptTrees = b.keeps(p.packages), make(map[string]bool)
	for _, t := range p.trees() {
		p.keptTrees[t.Feature] = b.keepsTree(t)
	}
	return p, nil
}

func (b *build) leaveOut(name string, err error) {
	if b.leftOut == nil {
		b.leftOut = make(map[string]string)
	}
	b.leftOut[name] = reasonOf(err)
	b.Log.Warn("a feature that is wanted is left out", "feature", name, "why", reasonOf(err))
}

// part finds the lock of one feature and takes out what the core has.
func (b *build) part(ctx context.Context, name string) (part, error) {
	f, err := b.find(name)
	if err != nil {
		return part{}, err
	}
	if f.Node() {
		tree, refused := b.tree(f)
		if refused != nil {
			return part{}, refused
		}
		if !b.keepsTree(tree) && !b.installer().HasNode() {
			return part{}, unavailable.NoNode()
		}
		return part{Feature: f, lock: lock.Lock{Kind: lock.Shipped}, tree: tree}, nil
	}
	whole, err := b.lockOf(ctx, f)
	if err != nil {
		return part{}, err
	}
	rest, core, err := whole.Without(b.Distributions)
	if err != nil {
		return part{}, conflicting(err)
	}
	if refused := gate.AskSource(b.Lookup, b.unbuilt(rest)); refused != nil {
		return part{}, refused
	}
	return part{Feature: f, lock: rest, core: core}, nil
}

// conflicting is an error about versions that cannot be there both.
func conflicting(err error) error {
	next := ""
	var c *lock.Conflict
	if errors.As(err, &c) && c.Who != lock.TheCore {
		next = fmt.Sprintf("remove one of them with \"hermes addon remove %s\"", c.Who)
	}
	return unavailable.Because(unavailable.Conflict, err, next)
}

// lockOf is the lock that was shipped for a feature, or what was found out when it was installed first, or else is
// found out now.
func (b *build) lockOf(ctx context.Context, f feature.Feature) (lock.Lock, error) {
	shipped, err := lock.Load(b.locks, b.Tag, f.Name)
	if err == nil {
		err = shipped.Current(f.Specs)
	}
	var none *lock.Unlockable
	switch {
	case err == nil:
		return shipped, nil
	case errors.As(err, &none):
		return lock.Lock{}, unavailable.Because(unavailable.Unsupported, fmt.Errorf("unsupported: %w", none), "")
	case !errors.Is(err, lock.ErrNone):
		b.Log.Warn("a shipped lock is of no use", "feature", f.Name, "why", err)
	}
	if known, ok := b.lockedBefore(f); ok {
		return known, nil
	}
	return b.installer().Resolve(ctx, install.Wish{Feature: f.Name, Specs: f.Specs, Core: b.Distributions})
}

// lockedBefore is the lock by which the current generation has a feature, if the core still has its share of it.
func (b *build) lockedBefore(f feature.Feature) (lock.Lock, bool) {
	i := slices.IndexFunc(b.current.Features, func(have manifest.Feature) bool { return have.Name == f.Name && slices.Equal(have.Specs, f.Specs) })
	if i < 0 || b.anew {
		return lock.Lock{}, false
	}
	have := b.current.Features[i]
	l := lock.Lock{Feature: f.Name, Tag: b.Tag, Kind: have.Kind, Specs: lock.Digest(f.Specs)}
	for name, version := range have.Core {
		if b.Distributions[name] != version {
			return lock.Lock{}, false
		}
		l.Packages = append(l.Packages, lock.Package{Name: name, Version: version})
	}
	for _, d := range b.current.Distributions {
		if slices.Contains(have.Distributions, d.Name) {
			l.Packages = append(l.Packages, d.Package())
		}
	}
	slices.SortFunc(l.Packages, func(x, y lock.Package) int { return cmp.Compare(x.Name, y.Name) })
	return l, true
}

// keeps are the packages that the current generation has exactly as they are wanted.
func (b *build) keeps(packages []lock.Package) map[string]bool {
	kept := make(map[string]bool)
	if b.anew {
		return kept
	}
	have := make(map[string]manifest.Distribution)
	for _, d := range b.current.Distributions {
		have[d.Name] = d
	}
	for _, pkg := range packages {
		if d, there := have[pkg.Name]; there && d.Version == pkg.Version && slices.Equal(d.Hashes, pkg.Hashes) {
			kept[pkg.Name] = true
		}
	}
	// A file counts as one distribution's. Another one that has it cannot be kept without that one.
	for again := true; again; {
		again = false
		for name := range kept {
			if slices.ContainsFunc(have[name].Shares, func(other string) bool { return !kept[other] }) {
				delete(kept, name)
				again = true
			}
		}
	}
	return kept
}

// features describes the parts for a manifest.
func (p plan) features(core map[string]string) (all []manifest.Feature) {
	for _, part := range p.parts {
		f := manifest.Feature{Name: part.Name, Specs: part.Specs, Kind: part.lock.Kind, Core: make(map[string]string), Distributions: []string{}}
		for _, name := range part.core {
			f.Core[name] = core[name]
		}
		for _, pkg := range part.lock.Packages {
			f.Distributions = append(f.Distributions, pkg.Name)
		}
		all = append(all, f)
	}
	return all
}
