package store

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hermes.example/hermes/internal/addon/manifest"
)

// proof is what has to be there for a feature. Each feature of a generation has its own small file of it, because the
// question is asked before every use, and a manifest takes milliseconds to read.
type proof struct {
	Specs []string `json:"specs"`
	// Entries are the names in site-packages that its distributions brought.
	Entries []string `json:"entries"`
}

// Has says whether the current generation has a feature with exactly these requirements. It reads one small file and
// looks for each package; whether those are as they should be is Verify's question.
func (s *Store) Has(feature string, specs []string) bool {
	if !manifest.FeatureName(feature) {
		return false
	}
	g, err := s.look()
	if err != nil {
		return false
	}
	text, err := os.ReadFile(g.proof(feature))
	var p proof
	if err != nil || json.Unmarshal(text, &p) != nil || !slices.Equal(p.Specs, specs) {
		return false
	}
	site := g.SitePackages()
	if trusted(site) != nil {
		return false
	}
	for _, name := range p.Entries {
		if _, err := os.Lstat(filepath.Join(site, name)); err != nil {
			return false
		}
	}
	return true
}

func (g Generation) proof(feature string) string {
	return filepath.Join(g.Dir, featuresDir, feature+".json")
}

// proofs are the files of all features, by their names.
func proofs(m manifest.Manifest) (map[string][]byte, error) {
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
		names := entries[metadataOf(d.Name)]
		for _, module := range d.Modules {
			names = append(names[:len(names):len(names)], entries[module]...)
		}
		brought[d.Name] = names
	}
	files := make(map[string][]byte, len(m.Features))
	for _, f := range m.Features {
		p := proof{Specs: f.Specs}
		for _, d := range f.Distributions {
			p.Entries = append(p.Entries, brought[d]...)
		}
		slices.Sort(p.Entries)
		p.Entries = slices.Compact(p.Entries)
		text, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		files[f.Name+".json"] = append(text, '\n')
	}
	return files, nil
}

// metadataOf is a key that no module has. Directories of metadata spell their distribution in more than one way.
func metadataOf(dist string) string {
	words := strings.FieldsFunc(strings.ToLower(dist), func(r rune) bool { return strings.ContainsRune("-_.", r) })
	return "=" + strings.Join(words, "-")
}
