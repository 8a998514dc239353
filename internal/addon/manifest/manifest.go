// Package manifest says what is in a generation of the store.
package manifest

import "hermes.example/hermes/internal/addon/lock"

// Manifest is a generation's manifest.json. Its digest names the generation.
type Manifest struct {
	Version int    `json:"version"` // of this format
	ABI     string `json:"abi"`
	// Core is the digest of the core that the files were checked against. It stands before what is long: see CoreOf.
	Core     string    `json:"core,omitempty"`
	Features []Feature `json:"features"` // sorted by name
	// Distributions are those that are in the generation, sorted by name.
	Distributions []Distribution `json:"distributions"`
	// Compiled says that whatever of it can be compiled is here as bytecode, too.
	Compiled bool `json:"compiled,omitempty"`
	// Files are all files below site-packages, sorted by path.
	Files []File `json:"files"`
	// Trees are what npm brought, sorted by feature.
	Trees []Tree `json:"trees,omitempty"`
}

// Feature is one that the generation has.
type Feature struct {
	Name  string    `json:"name"`
	Specs []string  `json:"specs"`
	Kind  lock.Kind `json:"lock"`
	// Core are the distributions of its closure that the core has, with their versions, and that are therefore not here.
	Core map[string]string `json:"core,omitempty"`
	// Distributions are those that are here for it.
	Distributions []string `json:"distributions"`
}

// Distribution is one that was installed.
type Distribution struct {
	Name     string   `json:"name"` // normalised
	Version  string   `json:"version"`
	License  string   `json:"license,omitempty"`
	Requires []string `json:"requires,omitempty"` // as its metadata says
	Hashes   []string `json:"hashes"`             // of the lock
	Modules  []string `json:"modules"`            // its top-level names
	// Source says that it was built on this machine, so that its files are in no lock: the hashes are of their source.
	Source bool `json:"source,omitempty"`
	// Shares are the distributions that have a file of it, too: where one of them goes, it has to be installed anew.
	Shares []string `json:"shares,omitempty"`
}

// Package is the distribution as a lock has it.
func (d Distribution) Package() lock.Package {
	return lock.Package{Name: d.Name, Version: d.Version, Hashes: d.Hashes, Source: d.Source}
}

// File is one file.
type File struct {
	Path   string `json:"path"` // slashes, relative to site-packages, or to the node_modules of a tree
	Of     string `json:"of"`   // the distribution that it belongs to, or the path of the package
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Exec   bool   `json:"exec,omitempty"`
}
