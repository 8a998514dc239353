package manifest

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"hermes.example/hermes/internal/addon/npm"
)

// SitePackages is the directory of a generation in which the distributions of Python are.
const SitePackages = "site-packages"

// NodeModules is the directory of a generation in which the packages of a feature of npm are. Each feature has one of
// its own, as npm lays it out: none can be in another's way.
func NodeModules(feature string) string { return NodeDir + "/" + feature + "/node_modules" }

// NodeDir is where those of all features are.
const NodeDir = "node"

// Tree is what npm brought for one feature.
type Tree struct {
	Feature  string        `json:"feature"`
	Packages []NodePackage `json:"packages"` // sorted by path
	Files    []File        `json:"files"`    // sorted by path
}

// NodePackage is one package of a tree.
type NodePackage struct {
	Path      string   `json:"path"` // below node_modules, as in "accepts/node_modules/mime-db"
	Version   string   `json:"version"`
	Integrity string   `json:"integrity"` // of the lock
	License   string   `json:"license,omitempty"`
	Requires  []string `json:"requires,omitempty"` // the names of packages
	// Native says that it brings compiled code, which nobody can look through.
	Native bool `json:"native,omitempty"`
}

// Name is the package's.
func (p NodePackage) Name() string { return npm.NameAt(p.Path) }

// Tree is that of a feature, if it has one.
func (m Manifest) Tree(feature string) (Tree, bool) {
	i := slices.IndexFunc(m.Trees, func(t Tree) bool { return t.Feature == feature })
	if i < 0 {
		return Tree{}, false
	}
	return m.Trees[i], true
}

// Placed are all files, by their paths in the generation.
func (m Manifest) Placed() []File {
	all := placed(SitePackages, m.Files)
	for _, t := range m.Trees {
		all = append(all, t.Placed()...)
	}
	return all
}

// Placed are the files of the tree, by their paths in the generation.
func (t Tree) Placed() []File { return placed(NodeModules(t.Feature), t.Files) }

func placed(dir string, files []File) []File {
	all := make([]File, 0, len(files))
	for _, f := range files {
		f.Path = dir + "/" + f.Path
		all = append(all, f)
	}
	return all
}

// Dirs are the directories of the generation that its files lie in, all the way up. That of Python's distributions is
// there in any case: the search path leads to it.
func (m Manifest) Dirs() map[string]bool {
	dirs := dirsOf(m.Placed())
	dirs[SitePackages] = true
	return dirs
}

func dirsOf(files []File) map[string]bool {
	dirs := make(map[string]bool)
	for _, f := range files {
		for dir := path.Dir(f.Path); dir != "." && dir != "/" && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	return dirs
}

// checkTrees finds what no honest tree has.
func (m Manifest) checkTrees() error {
	features := make(map[string]bool, len(m.Features))
	for _, f := range m.Features {
		features[f.Name] = true
	}
	for i, t := range m.Trees {
		if !features[t.Feature] || i > 0 && m.Trees[i-1].Feature >= t.Feature {
			return fmt.Errorf("tree %q: each is of a feature that is here, and they are sorted", t.Feature)
		}
		if err := t.check(); err != nil {
			return fmt.Errorf("tree %q: %w", t.Feature, err)
		}
	}
	return nil
}

func (t Tree) check() error {
	here := make(map[string]bool, len(t.Packages))
	for i, p := range t.Packages {
		if npm.CheckPath(p.Path) != nil || npm.CheckVersion(p.Version) != nil || npm.CheckIntegrity(p.Integrity) != nil || i > 0 && t.Packages[i-1].Path >= p.Path {
			return fmt.Errorf("package %.200q: each has a place, a version and an integrity, and they are sorted", p.Path)
		}
		here[p.Path] = true
	}
	if err := checkFiles(t.Files); err != nil {
		return err
	}
	for _, f := range t.Files {
		if !here[f.Of] || !strings.HasPrefix(f.Path, f.Of+"/") {
			return fmt.Errorf("file %.200q: it is in no package", f.Path)
		}
	}
	if len(t.Files) == 0 {
		return errors.New("it has no files")
	}
	return nil
}
