package store

import (
	"os"
	"slices"
	"strings"

	"hermes.example/hermes/internal/addon/manifest"
)

// mostEntries is how many are looked for: if none of so many is missing, more would not make it more certain.
const mostEntries = 100

// Has says whether the current generation has a feature with exactly these requirements. It reads one small file and
// looks for each distribution; whether those are as they should be is Verify's question. Who could have changed the
// directories above was Open's.
func (s *Store) Has(feature string, specs []string) bool {
	if !manifest.FeatureName(feature) {
		return false
	}
	to, err := os.Readlink(s.current())
	if err != nil {
		return false
	}
	digest, ok := digestOf(to)
	if !ok {
		return false
	}
	in, err := enter(s.generation(digest).Dir)
	if err != nil {
		return false
	}
	defer in.close()
	text, err := in.read(featuresDir + "/" + feature)
	if err != nil {
		return false
	}
	entries, ok := strings.CutPrefix(text, required(specs))
	if !ok {
		return false
	}
	dir := manifest.NodeModules(feature)
	changed, ok := in.trusted(dir)
	if !ok { // it is one of Python
		dir = sitePackages
		changed, ok = in.trusted(dir)
	}
	if !ok {
		return false
	}
	// Whoever takes a name away there changes the directory's time: what was seen once need not be looked for again.
	proof := digest + "/" + feature
	if at, ok := s.seen.Load(proof); ok && at == changed {
		return true
	}
	for line := range strings.Lines(entries) {
		if !in.has(dir + "/" + strings.TrimSuffix(line, "\n")) {
			return false
		}
	}
	s.seen.Store(proof, changed)
	return true
}

// required is how the proof of a feature with these requirements begins.
func required(specs []string) string { return strings.Join(specs, "\n") + "\n\n" }

// proofs are what has to be there for each feature: a line for each of its requirements, an empty line, and a line for
// each name in site-packages: of the metadata of its distributions, and of their first modules. For a feature of npm the
// names are those of the packages that lie in its node_modules. Every feature has a small file of its own, without a format that would have to be parsed: it is read before every use, and a manifest
// takes milliseconds.
func proofs(m manifest.Manifest) map[string][]byte {
	entries := make(map[string][]string) // by the module, or by the distribution whose metadata it is
	for _, f := range m.Files {
		name, _, _ := strings.Cut(f.Path, "/")
		key, _, _ := strings.Cut(name, ".")
		if dist, ok := strings.CutSuffix(name, ".dist-info"); ok {
			key = metadataOf(dist[:max(0, strings.LastIndexByte(dist, '-'))]) // a version follows
		}
		if have := entries[key]; len(have) == 0 || have[len(have)-1] != name { // names come sorted
			entries[key] = append(have, name)
		}
	}
	brought := make(map[string][]string)
	for _, d := range m.Distributions {
		names := slices.Clone(entries[metadataOf(d.Name)])
		if len(d.Modules) > 0 {
			names = append(names, entries[d.Modules[0]]...)
		}
		brought[d.Name] = names
	}
	packages := make(map[string][]string)
	for _, t := range m.Trees {
		for _, p := range t.Packages {
			if p.Name() == p.Path { // others lie in a package
				packages[t.Feature] = append(packages[t.Feature], p.Path)
			}
		}
	}
	files := make(map[string][]byte, len(m.Features))
	for _, f := range m.Features {
		var names []string
		for _, d := range f.Distributions {
			names = append(names, brought[d]...)
		}
		names = append(names, packages[f.Name]...)
		slices.Sort(names)
		names = slices.Compact(names)
		text := required(f.Specs)
		for _, name := range names[:min(len(names), mostEntries)] {
			text += name + "\n"
		}
		files[f.Name] = []byte(text)
	}
	return files
}

// metadataOf is a key that no module has. Directories of metadata spell their distribution in more than one way.
func metadataOf(dist string) string {
	words := strings.FieldsFunc(strings.ToLower(dist), func(r rune) bool { return strings.ContainsRune("-_.", r) })
	return "=" + strings.Join(words, "-")
}
