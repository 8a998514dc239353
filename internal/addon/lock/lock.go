// Package lock holds what exactly is installed for a feature: every wheel of its
// closure, with its hashes, and the source of what has none. uv and pip are given the same list, and neither resolves.
//
// A lock is a file in pip's format of requirements with a few comments at its top, so that people can read it and
// installers take it as it is. Nothing here touches the network or starts a program.
package lock

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

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
	Specs    string    // the digest of the feature's requirements that it was made for
	Packages []Package // sorted by name
}

// Package is one distribution.
type Package struct {
	Name    string   // normalised
	Version string   // exact
	Hashes  []string // "sha256:…", of every file that may be installed
	Size    int64    // bytes to download, 0 where nobody said
	// Source says that there is no wheel: the hashes are of a source distribution, which has to be built, and so run.
	Source bool
}

func (p Package) String() string { return p.Name + "==" + p.Version }

// BuildTools is the lock of what sources are built with, which is none of a feature.
const BuildTools = "build.tools"

// Apart are the packages that have wheels, and those that have to be built.
func Apart(packages []Package) (wheels, sources []Package) {
	for _, p := range packages {
		if p.Source {
			sources = append(sources, p)
		} else {
			wheels = append(wheels, p)
		}
	}
	return wheels, sources
}

// Digest is that of a feature's requirements. Their order counts: the first is the anchor.
func Digest(specs []string) string {
	sum := sha256.Sum256([]byte(strings.Join(specs, "\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Current tells a lock that was made for other requirements than the feature has now.
func (l Lock) Current(specs []string) error {
	if l.Specs != Digest(specs) {
		return fmt.Errorf(`cannot use the lock of %s: it was made for other requirements; run "make lock"`, l.Feature)
	}
	return nil
}

// Size is how much is to be downloaded, as far as the packages say.
func Size(packages []Package) int64 {
	var sum int64
	for _, p := range packages {
		sum += p.Size
	}
	return sum
}
