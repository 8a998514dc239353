package lock

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hermes.example/hermes/internal/addon/pep508"
)

// TheCore is who has a version that no feature can change.
const TheCore = "the core"

// Conflict is that of two versions of one package, of which only one can be there.
type Conflict struct {
	Package string
	Wanted  string // version
	By      string // the feature that wants it
	Have    string // the other version
	Who     string // TheCore, or another feature
}

func (c *Conflict) Error() string {
	return fmt.Sprintf("%s needs %s %s, but %s has %s %s", c.By, c.Package, c.Wanted, c.Who, c.Package, c.Have)
}

// Without is the lock without the packages that the core has, and the names of those. The core is by normalised name.
// A lock that needs another version than the core's cannot be installed at all: the core comes first on the search
// path, so that its version would be used.
func (l Lock) Without(core map[string]string) (Lock, []string, error) {
	rest := l
	rest.Packages = nil
	var left []string
	for _, p := range l.Packages {
		have, there := core[p.Name]
		switch {
		case !there:
			rest.Packages = append(rest.Packages, p)
		case !same(have, p.Version):
			return Lock{}, nil, &Conflict{Package: p.Name, Wanted: p.Version, By: l.Feature, Have: have, Who: TheCore}
		default:
			left = append(left, p.Name)
		}
	}
	return rest, left, nil
}

// Union is what several features need together, sorted by name: a generation holds all features, and a package only once.
func Union(locks ...Lock) ([]Package, error) {
	type wish struct {
		Package
		by string
	}
	wishes := make(map[string]wish)
	for _, l := range locks {
		for _, p := range l.Packages {
			other, there := wishes[p.Name]
			switch {
			case !there:
				wishes[p.Name] = wish{p, l.Feature}
			case !same(other.Version, p.Version):
				return nil, &Conflict{Package: p.Name, Wanted: p.Version, By: l.Feature, Have: other.Version, Who: other.by}
			default:
				other.Hashes, other.Size = together(other.Hashes, p.Hashes), max(other.Size, p.Size)
				other.Source = other.Source && p.Source // one lock that has a wheel is enough
				wishes[p.Name] = other
			}
		}
	}
	packages := make([]Package, 0, len(wishes))
	for w := range maps.Values(wishes) {
		packages = append(packages, w.Package)
	}
	slices.SortFunc(packages, func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
	return packages, nil
}

// together are all hashes: every lock vouches for its files.
func together(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// same says whether two spellings mean one version: metadata says "2025.01.31" where an index says "2025.1.31".
func same(a, b string) bool {
	v, err := pep508.ParseVersion(a)
	w, err2 := pep508.ParseVersion(b)
	if cmp.Or(err, err2) != nil {
		return a == b
	}
	return v.Compare(w) == 0
}
