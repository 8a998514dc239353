// Package vet decides whether what an installer left in a staging directory may become a generation. Neither uv
// nor pip asks what a wheel does to the interpreter that it is put beside: both install a module named json, a
// file that runs at every start of the interpreter, or a script named git. Here is where that ends.
//
// The measure is the core's description and the lock: a tree may only add to the core, and it holds exactly the
// files of the wheels that the lock names. The Manager calls Check and then Tidy, before anything is published.
// The package must never follow a link, and never import or run what it looks at.
package vet

import (
	"bytes"
	"cmp"
	"slices"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/manifest"
	"hermes.example/hermes/internal/addon/sealed"
)

// Report is what Check found out about a tree.
type Report struct {
	// Distributions and Files are for the manifest, sorted. They say how the tree is once Tidy has run.
	Distributions []manifest.Distribution
	Files         []manifest.File
	// Problems are the reasons against publication, sorted by file.
	Problems []Problem

	tree    string
	dropped []string          // files that Tidy removes
	records map[string][]byte // files that Tidy writes anew
}

// Check looks at a staged site-packages as the installer left it. Nobody may write to it meanwhile. What was wanted
// are the packages of all features, without those that the core has. Of bytecode it stays what is ours; a wheel's own
// goes, because nobody knows whether its source says the same.
func Check(tree string, core sealed.Description, wanted []lock.Package, ours func(bytecode string) bool) (*Report, error) {
	found, err := walk(tree, isMetadata)
	if err != nil {
		return nil, err
	}
	found.ours = ours
	found.readDistributions()
	found.checkRecords()
	found.checkLock(core, wanted)
	found.checkNames(core)
	found.checkStartup()
	found.checkEntryPoints(core)
	found.checkScripts()
	found.checkBytecode()
	return found.report(tree, wanted), nil
}

func (t *contents) report(tree string, wanted []lock.Package) *Report {
	r := &Report{tree: tree, Problems: t.sortedProblems(), records: make(map[string][]byte)}
	for _, d := range t.distributions {
		record := t.canonicalRecord(d)
		if f := t.files[d.dir+"/RECORD"]; f != nil && !bytes.Equal(f.content, record) {
			r.records[f.Path] = record
			f.describe(record)
		}
		r.Distributions = append(r.Distributions, t.describe(d, wanted))
	}
	for path, f := range t.files {
		if t.isInstallers(path) || isBytecode(path) && !t.ours(path) {
			r.dropped = append(r.dropped, path)
			continue
		}
		f.Of = t.ownerOf(path)
		r.Files = append(r.Files, f.File)
	}
	slices.Sort(r.dropped)
	slices.SortFunc(r.Files, func(a, b manifest.File) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(r.Distributions, func(a, b manifest.Distribution) int { return cmp.Compare(a.Name, b.Name) })
	return r
}
