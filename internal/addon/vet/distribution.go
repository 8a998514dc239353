package vet

import (
	"path"
	"slices"
	"strings"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/manifest"
	"hermes.example/hermes/internal/addon/pep508"
	"hermes.example/hermes/internal/addon/sealed"
)

// distribution is one that has metadata in the tree.
type distribution struct {
	dir           string // "demo-1.0.dist-info"
	name, version string // by its directory; METADATA says the same, or it is a problem
	license       string
	requires      []string
	claims        []string // the files that RECORD names and that are there
	shares        []string // distributions that claim some of them, too
}

// String is what problems call it; nobody's is empty.
func (d *distribution) String() string {
	if d == nil {
		return ""
	}
	return strings.TrimSpace(d.name + " " + d.version)
}

// isDistInfo is as forgiving as Python, which finds metadata whatever the case of its directory's name.
func isDistInfo(name string) bool {
	return !strings.Contains(name, "/") && strings.HasSuffix(strings.ToLower(name), ".dist-info")
}

// isOldMetadata knows the forms of metadata that no wheel has.
func isOldMetadata(name string) bool {
	low := strings.ToLower(name)
	return strings.HasSuffix(low, ".egg-info") || strings.HasSuffix(low, ".egg") || strings.HasSuffix(low, ".egg-link")
}

// metadataOf is the distribution in whose metadata a file lies.
func (t *contents) metadataOf(file string) *distribution {
	top, _, _ := strings.Cut(file, "/")
	for _, d := range t.distributions {
		if d.dir == top {
			return d
		}
	}
	return nil
}

func (t *contents) readDistributions() {
	for _, dir := range t.directories {
		if !isDistInfo(dir) {
			continue
		}
		name, version, _ := strings.Cut(dir[:len(dir)-len(".dist-info")], "-")
		d := &distribution{dir: dir, name: pep508.Normalize(name), version: version}
		t.distributions = append(t.distributions, d)
		metadata := t.files[dir+"/METADATA"]
		if metadata == nil || metadata.content == nil {
			t.refuse(Metadata, dir, "it has no METADATA that can be read")
			continue
		}
		if why := unreadable(metadata.content); why != "" {
			t.refuse(Metadata, metadata.Path, "%s", why)
			continue
		}
		h := parseHeaders(metadata.content)
		d.license, d.requires = h.license(), h["requires-dist"]
		if said := h.first("name"); pep508.Normalize(said) != d.name {
			t.refuse(Metadata, metadata.Path, "it says that this is %.80q", said)
		}
		if said := h.first("version"); !sameVersion(said, version) {
			t.refuse(Metadata, metadata.Path, "it says that this is version %.80q", said)
		} else {
			d.version = said
		}
	}
	slices.SortFunc(t.distributions, func(a, b *distribution) int { return strings.Compare(a.dir, b.dir) })
	for file := range t.files {
		if !strings.Contains(file, "/") && isDistInfo(file) {
			t.refuse(Metadata, file, "metadata of a distribution has to be a directory")
		}
	}
}

// checkLock compares the distributions with those that are wanted: these in exactly these versions, and no others.
func (t *contents) checkLock(core sealed.Description, wanted []lock.Package) {
	seen := make(map[string]*distribution)
	for _, d := range t.distributions {
		if before := seen[d.name]; before != nil {
			t.refuse(Duplicate, d.dir, "there is also %s", before.dir)
			continue
		}
		seen[d.name] = d
		if version, has := core.Distributions[d.name]; has {
			t.refuse(CoreDistribution, d.dir, "the core has %s %s", d.name, version)
			continue
		}
		switch want := find(wanted, d.name); {
		case want == nil:
			t.refuse(Unlocked, d.dir, "no lock names it")
		case !sameVersion(want.Version, d.version):
			t.refuse(Unlocked, d.dir, "the lock says %s", want.Version)
		}
		if t.isEmpty(d) {
			t.refuse(Empty, d.dir, "it has metadata and nothing else")
		}
	}
	for _, p := range wanted {
		if seen[p.Name] == nil {
			t.problems = append(t.problems, Problem{Missing, "", p.Name + " " + p.Version, "the lock names it and it was not installed"})
		}
	}
	for _, name := range t.topLevel() {
		if isOldMetadata(name) {
			t.refuse(Unlocked, name, "metadata of this old form makes a distribution that no lock names")
		}
	}
}

// isEmpty says whether a distribution is a name without content. One that only requires others is a bundle, and honest.
func (t *contents) isEmpty(d *distribution) bool {
	return len(d.requires) == 0 && !slices.ContainsFunc(d.claims, func(file string) bool { return path.Dir(file) != d.dir })
}

func find(wanted []lock.Package, name string) *lock.Package {
	i := slices.IndexFunc(wanted, func(p lock.Package) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &wanted[i]
}

// sameVersion compares as Python does: 1.0 is 1.0.0, and 2024.07 is 2024.7.
func sameVersion(a, b string) bool {
	if a == b {
		return true
	}
	va, err := pep508.ParseVersion(a)
	if err != nil {
		return false
	}
	vb, err := pep508.ParseVersion(b)
	return err == nil && va.Compare(vb) == 0
}

func (t *contents) describe(d *distribution, wanted []lock.Package) manifest.Distribution {
	m := manifest.Distribution{Name: d.name, Version: d.version, License: d.license, Requires: d.requires, Modules: t.modules(d)}
	if want := find(wanted, d.name); want != nil {
		m.Hashes = want.Hashes
	}
	slices.Sort(d.shares)
	m.Shares = slices.Compact(d.shares)
	return m
}
