package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"hermes.example/hermes/internal/addon/feature"
)

// joint are the features that can be there at the same time, and the versions at which they can. One search path holds
// all that somebody wants: features that were resolved each by itself would exclude each other without need.
type joint struct {
	features []string
	versions map[string]string
}

// together resolves all features at once. Those that cannot join the ones before them are left out.
func (g *generator) together(ctx context.Context, p platform) (joint, error) {
	var j joint
	var specs []string
	for _, f := range feature.All() {
		more := slices.Concat(specs, f.Specs)
		slices.Sort(more)
		more = slices.Compact(more)
		l, err := g.resolve(ctx, p, "all features up to "+f.Name, more, g.core)
		if err != nil {
			reason, lasting := why(err)
			if !lasting {
				return joint{}, fmt.Errorf("cannot lock %s for %s: %w", f.Name, p.tag, err)
			}
			fmt.Printf("%-28s %-8s apart from the others: %s\n", f.Name, p.name, reason)
			continue
		}
		specs, j.features, j.versions = more, append(j.features, f.Name), make(map[string]string)
		for _, q := range l.Packages {
			j.versions[q.Name] = q.Version
		}
	}
	return j, nil
}

// constraints are the versions that a feature's lock holds to.
func (j joint) constraints(f feature.Feature, core map[string]string) map[string]string {
	all := maps.Clone(core)
	if slices.Contains(j.features, f.Name) {
		maps.Copy(all, j.versions)
	}
	return all
}
