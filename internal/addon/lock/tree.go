package lock

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"hermes.example/hermes/internal/addon/npm"
	"hermes.example/hermes/internal/atomicfile"
)

// Tree is the closure of a feature of npm: every package, with its integrity and its place below node_modules. It is the
// same for all platforms.
type Tree struct {
	Format   int    `json:"hermes-lock"`
	Feature  string `json:"feature"`
	Specs    string `json:"specs"`    // the digest of the feature's requirements that it was made for
	Packages []Node `json:"packages"` // sorted by path
}

// Node is one package of a tree. Which versions it would take of those that it requires is not in it: what it gets is
// what lies where Node.js looks.
type Node struct {
	Path      string   `json:"path"` // below node_modules, as in "accepts/node_modules/mime-db"
	Version   string   `json:"version"`
	Integrity string   `json:"integrity"` // SHA-512, as npm writes it
	Size      int64    `json:"size,omitempty"`
	Requires  []string `json:"requires,omitempty"` // the names of packages, sorted
	// Engine is the versions of Node.js that a package is for which the feature itself names.
	Engine string `json:"engine,omitempty"`
	// Optional ones are for some systems only, and need not be there.
	Optional bool     `json:"optional,omitempty"`
	OS       []string `json:"os,omitempty"`
	CPU      []string `json:"cpu,omitempty"`
	Libc     []string `json:"libc,omitempty"`
	// Scripts says that it has some that npm would run when it is installed. They never run here.
	Scripts bool `json:"scripts,omitempty"`
}

// Name is the package's.
func (n Node) Name() string { return npm.NameAt(n.Path) }

func (n Node) String() string { return n.Name() + "@" + n.Version }

const (
	// NodeLocks is the directory of the trees, beside those of ABIs.
	NodeLocks = "node"
	// treeFormat is that of the file.
	treeFormat = 1
)

// NewTree is a tree of these packages.
func NewTree(feature string, specs []string, packages []Node) Tree {
	return Tree{Format: treeFormat, Feature: feature, Specs: Digest(specs), Packages: packages}
}

// Current tells a tree that was made for other requirements than the feature has now, or that lacks one of them.
func (t Tree) Current(specs []string) error {
	if t.Specs != Digest(specs) {
		return fmt.Errorf(`cannot use the lock of %s: it was made for other requirements; run "make lock"`, t.Feature)
	}
	for _, text := range specs {
		spec, err := npm.Parse(text)
		if err != nil {
			return err
		}
		if at := t.at(spec.Name); at == nil || at.Version != spec.Version {
			return fmt.Errorf(`cannot use the lock of %s: it does not have %s; run "make lock"`, t.Feature, spec)
		}
	}
	return nil
}

func (t Tree) at(path string) *Node {
	i, found := slices.BinarySearchFunc(t.Packages, path, func(n Node, path string) int { return strings.Compare(n.Path, path) })
	if !found {
		return nil
	}
	return &t.Packages[i]
}

// Found is what a package at a place finds under a name, as Node.js looks for it: beside what lies in the package, then
// beside the package, and so on upwards. Nil: nothing.
func (t Tree) Found(from, name string) *Node {
	for {
		if n := t.at(from + "/node_modules/" + name); n != nil {
			return n
		}
		above := strings.LastIndex(from, "/node_modules/")
		if above < 0 {
			return t.at(name)
		}
		from = from[:above]
	}
}

// Bytes is how much is to be downloaded, as far as the packages say.
func (t Tree) Bytes() (sum int64) {
	for _, n := range t.Packages {
		sum += n.Size
	}
	return sum
}

// TreePath is where the lock of a feature of npm is below dir.
func TreePath(dir, feature string) string { return filepath.Join(dir, NodeLocks, feature+".json") }

// LoadTree reads the shipped lock of a feature of npm. It fails with ErrNone, or because the file is wrong.
func LoadTree(dir, feature string) (Tree, error) {
	path := TreePath(dir, feature)
	data, err := atomicfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Tree{}, fmt.Errorf("%w for %s, and packages of npm are not chosen here", ErrNone, feature)
	}
	if err != nil {
		return Tree{}, fmt.Errorf("cannot read the lock of %s: %w", feature, err)
	}
	t, err := ParseTree(data)
	if err != nil {
		return Tree{}, fmt.Errorf("%s: %w", path, err)
	}
	if t.Feature != feature {
		return Tree{}, fmt.Errorf("cannot use the lock of %s: %s is that of %s", feature, path, t.Feature)
	}
	return t, nil
}
