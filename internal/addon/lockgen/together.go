package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/lock"
)

// joint are the features that can be there at the same time, and the versions at which they can. One search path holds
// all that somebody wants: features that were resolved each by itself would exclude each other without need.
type joint struct {
	features []string
	versions map[string]string
}

// together resolves all features at once. Those that cannot join the ones before them are left out. Those that have to be
// built come last, and fit themselves to the others: few have them, and they must not hold anybody else back.
func (g *generator) together(ctx context.Context, p platform) (joint, error) {
	var j joint
	var specs []string
	var built []feature.Feature
	for _, f := range python() {
		more := slices.Concat(specs, f.Specs)
		slices.Sort(more)
		more = slices.Compact(more)
		l, err := g.attempt(ctx, p, "all features up to "+f.Name, more, g.core)
		if _, only := withoutWheel(err); only {
			built = append(built, f)
			continue
		}
		if err := apart(f, p, err); err != nil {
			return joint{}, err
		}
		if err != nil {
			continue
		}
		specs, j.versions = more, make(map[string]string)
		j.add(f, l)
	}
	for _, f := range built {
		all := maps.Clone(g.core)
		maps.Copy(all, j.versions)
		l, err := g.resolve(ctx, p, f.Name, f.Specs, all)
		if err := apart(f, p, err); err != nil {
			return joint{}, err
		}
		if err == nil {
			j.add(f, l)
		}
	}
	return j, nil
}

func (j *joint) add(f feature.Feature, l lock.Lock) {
	j.features = append(j.features, f.Name)
	for _, q := range l.Packages {
		j.versions[q.Name] = q.Version
	}
}

// apart says that a feature cannot join the others, if that is why it failed.
func apart(f feature.Feature, p platform, err error) error {
	if err == nil {
		return nil
	}
	reason, lasting := why(err)
	if !lasting {
		return fmt.Errorf("cannot lock %s for %s: %w", f.Name, p.tag, err)
	}
	fmt.Printf("%-28s %-8s apart from the others: %s\n", f.Name, p.name, reason)
	return nil
}

// constraints are the versions that a feature's lock holds to.
func (j joint) constraints(f feature.Feature, core map[string]string) map[string]string {
	all := maps.Clone(core)
	if slices.Contains(j.features, f.Name) {
		maps.Copy(all, j.versions)
	}
	return all
}
