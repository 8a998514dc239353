package vet

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/manifest"
)

// CheckTree looks at a staged node_modules as npm left it. Nobody may write to it meanwhile. It returns what there is for
// the manifest, or a *Refused: the tree holds exactly the packages of the lock, each in its place, and nothing beside them.
// npm has compared what it unpacked with the lock's integrities.
func CheckTree(dir string, wanted lock.Tree) (manifest.Tree, error) {
	places := make(map[string]*placed, len(wanted.Packages))
	for _, n := range wanted.Packages {
		places[n.Path] = &placed{Node: n}
	}
	found, err := walk(dir, func(name string) bool {
		return path.Base(name) == packageFile && places[path.Dir(name)] != nil
	})
	if err != nil {
		return manifest.Tree{}, err
	}
	found.checkCase()
	t := tree{found, places}
	files := t.claim()
	packages := t.packages()
	return manifest.Tree{Feature: wanted.Feature, Packages: packages, Files: files}, refusal(found.sortedProblems())
}

// packageFile is what a package says of itself.
const packageFile = "package.json"

// placed is a package of the lock, and what was found of it.
type placed struct {
	lock.Node
	about  []byte // its package.json
	files  int
	native bool
}

// tree is a node_modules as it was found.
type tree struct {
	*contents
	places map[string]*placed
}

// claim says whose each file is.
func (t tree) claim() []manifest.File {
	var all []manifest.File
	for name, f := range t.files {
		place, known := t.placeOf(name)
		if !known {
			t.refuse(Unlocked, name, "the lock has no package at %.200q", place)
			continue
		}
		p := t.places[place]
		p.files++
		if name == place+"/"+packageFile {
			p.about = f.content
		}
		p.native = p.native || strings.HasSuffix(strings.ToLower(name), ".node")
		f.Of = place
		all = append(all, f.File)
	}
	slices.SortFunc(all, func(a, b manifest.File) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// placeOf is the place of the package that a file lies in, and whether the lock has it. A node_modules that lies right in
// a package is a place for packages; one further down is only a directory.
func (t tree) placeOf(file string) (place string, known bool) {
	for rest := file; ; {
		name, after, _ := strings.Cut(rest, "/")
		if strings.HasPrefix(name, "@") {
			second, more, _ := strings.Cut(after, "/")
			name, after = name+"/"+second, more
		}
		place += name
		if after == "" || t.places[place] == nil {
			return place, false
		}
		deeper, isPlace := strings.CutPrefix(after, "node_modules/")
		if !isPlace {
			return place, true
		}
		place, rest = place+"/node_modules/", deeper
	}
}

// packages compares what each package says of itself with the lock.
func (t tree) packages() []manifest.NodePackage {
	var all []manifest.NodePackage
	for place, p := range t.places {
		if p.files == 0 {
			if !p.Optional {
				t.problems = append(t.problems, Problem{Missing, "", p.String(), "the lock names it and it was not installed"})
			}
			continue
		}
		var about struct {
			Name, Version     string
			License, Licenses json.RawMessage
		}
		err := json.Unmarshal(bytes.TrimPrefix(p.about, []byte("\ufeff")), &about)
		if err != nil || about.Name != p.Name() || strings.TrimLeft(about.Version, "v=") != p.Version {
			t.problems = append(t.problems, Problem{Metadata, place + "/" + packageFile, p.String(), "it does not say that this is what the lock names"})
		}
		all = append(all, manifest.NodePackage{
			Path: place, Version: p.Version, Integrity: p.Integrity, License: licenseOf(about.License, about.Licenses), Requires: p.Requires, Native: p.native,
		})
	}
	slices.SortFunc(all, func(a, b manifest.NodePackage) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// licenseOf reads the ways in which packages have said it: an expression, an object with a type, or a list of either.
func licenseOf(forms ...json.RawMessage) string {
	for _, form := range forms {
		var text string
		var object struct{ Type string }
		var list []json.RawMessage
		switch {
		case json.Unmarshal(form, &text) == nil && text != "":
			return text
		case json.Unmarshal(form, &object) == nil && object.Type != "":
			return object.Type
		case json.Unmarshal(form, &list) == nil && len(list) > 0:
			return licenseOf(list...)
		}
	}
	return ""
}
