// Package lock holds what exactly is installed for a feature: every wheel of its
// closure, with its hashes. uv and pip are given the same list, and neither resolves.
package lock

// Kind says where a lock comes from.
type Kind string

const (
	// Shipped ones were made with the core and are sealed with it.
	Shipped Kind = "shipped"
	// FirstUse ones were resolved at run time, because none was shipped.
	FirstUse Kind = "first-use"
)

// Lock is the closure of one feature for one ABI.
type Lock struct {
	Feature  string
	Tag      string // of the ABI
	Kind     Kind
	Packages []Package // sorted by name
}

// Package is one distribution.
type Package struct {
	Name    string   // normalised
	Version string   // exact
	Hashes  []string // "sha256:…", of every file that may be installed
}
