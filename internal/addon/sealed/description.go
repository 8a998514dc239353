// Package sealed knows the sealed Python runtime: the core that add-ons may only ever add to.
//
// The manager of add-ons finds it here and reads what it has, without starting an interpreter. Nothing here writes to a
// runtime.
package sealed

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
)

// Description is what a runtime says of itself in hermes-runtime.json, written when it was built, so that nobody has
// to start an interpreter to learn it.
type Description struct {
	Version int    `json:"version"` // of this format
	Python  string `json:"python"`  // "3.11.2"
	// ABI is what `.python-abi` holds: major.minor, a colon, the suffix of extension modules.
	ABI string `json:"abi"`
	// Tag names the ABI in paths: "cpython-311-x86_64-linux-gnu".
	Tag string `json:"tag"`
	// SitePackages is relative to the runtime's root.
	SitePackages string `json:"site_packages"`
	// Activates says whether its processes find add-ons by themselves.
	Activates bool `json:"activates"`
	// Inputs is a digest of all that a sealed runtime was made of.
	Inputs string `json:"inputs,omitempty"`
	// Distributions are the core's, by normalised name, with their exact versions.
	Distributions map[string]string `json:"distributions"`
	// Modules are the top-level names that the core can import, Namespaces those of them
	// that are namespace packages, Stdlib the names of the standard library.
	Modules    []string `json:"modules"`
	Namespaces []string `json:"namespaces"`
	Stdlib     []string `json:"stdlib"`
	// EntryPoints are the core's, as "group:name"; Scripts are the names in its bin.
	EntryPoints []string `json:"entry_points"`
	Scripts     []string `json:"scripts"`
}

// Digest stands for all that the description says of the core, and so for all that an add-on is checked against.
func (d Description) Digest() string {
	text, err := json.Marshal(d)
	if err != nil { // there is nothing in it that cannot be written
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// format is the version that is read here.
const format = 1

var (
	abiForm = regexp.MustCompile(`^[0-9]+\.[0-9]+:\.[A-Za-z0-9._-]+$`)
	tagForm = regexp.MustCompile(`^[a-z0-9_]+(-[a-z0-9_.]+)+$`)
)

func parse(text []byte) (Description, error) {
	var d Description
	if err := json.Unmarshal(text, &d); err != nil {
		return Description{}, fmt.Errorf("its description cannot be read: %w", err)
	}
	switch {
	case d.Version != format:
		return Description{}, fmt.Errorf("its description has format %d, and this hermes reads format %d", d.Version, format)
	case !abiForm.MatchString(d.ABI), !tagForm.MatchString(d.Tag):
		return Description{}, fmt.Errorf("its description has no ABI: %q, %q", d.ABI, d.Tag)
	case !filepath.IsLocal(d.SitePackages):
		return Description{}, fmt.Errorf("its packages are not in it, but in %q", d.SitePackages)
	case len(d.Stdlib) == 0:
		return Description{}, errors.New("its description has no standard library")
	}
	return d, nil
}
