// Package npm knows the few words of npm's world that add-ons are made of: names, exact versions, integrities, and where
// a package lies below node_modules. Whatever else npm would take for a package, an address, a directory, a tag or a
// range, is none here. It knows nothing of add-ons, and starts nothing.
package npm

import (
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Spec is a package in an exact version.
type Spec struct{ Name, Version string }

func (s Spec) String() string { return s.Name + "@" + s.Version }

var (
	// As the registry has demanded of new names for years: no capitals, nothing that a shell, an address or a file
	// system takes for something else.
	nameForm = regexp.MustCompile(`^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$`)
	// A version without build metadata, which npm does not tell apart.
	versionForm = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?$`)
)

const (
	longestName    = 214 // the registry's
	longestVersion = 256 // npm's
	modules        = "node_modules"
)

// Parse reads "name@version" or "@scope/name@version".
func Parse(text string) (Spec, error) {
	at := strings.LastIndexByte(text, '@')
	if at <= 0 {
		return Spec{}, fmt.Errorf("%.200q is not a name with an exact version", text)
	}
	s := Spec{text[:at], text[at+1:]}
	if err := CheckName(s.Name); err != nil {
		return Spec{}, fmt.Errorf("%.200q: %w", text, err)
	}
	if err := CheckVersion(s.Version); err != nil {
		return Spec{}, fmt.Errorf("%.200q: %w", text, err)
	}
	return s, nil
}

// CheckName says what is wrong with the name of a package.
func CheckName(name string) error {
	if len(name) > longestName || !nameForm.MatchString(name) || name == modules || name == "favicon.ico" {
		return fmt.Errorf("%.80q is no name of a package", name)
	}
	return nil
}

// CheckVersion says what is wrong with an exact version.
func CheckVersion(version string) error {
	if len(version) > longestVersion || !versionForm.MatchString(version) {
		return fmt.Errorf("%.80q is no exact version", version)
	}
	return nil
}

// CheckPath says what is wrong with the place of a package below node_modules: its name, or its name below the
// node_modules of another one.
func CheckPath(path string) error {
	for _, name := range strings.Split(path, "/"+modules+"/") {
		if err := CheckName(name); err != nil {
			return err
		}
	}
	return nil
}

// NameAt is the name of the package at a place below node_modules.
func NameAt(path string) string {
	const within = "/" + modules + "/"
	if at := strings.LastIndex(path, within); at >= 0 {
		return path[at+len(within):]
	}
	return path
}

var errIntegrity = errors.New("it has no SHA-512")

// Hash is the SHA-512 that an integrity stands for.
func Hash(integrity string) ([]byte, error) {
	text, ok := strings.CutPrefix(integrity, "sha512-")
	sum, err := base64.StdEncoding.Strict().DecodeString(text)
	if !ok || err != nil || len(sum) != 64 || len(text) != base64.StdEncoding.EncodedLen(64) { // the decoder passes over line breaks
		return nil, errIntegrity
	}
	return sum, nil
}

// CheckIntegrity takes one SHA-512 and nothing else: weaker sums would be an alternative for whoever wants to be
// mistaken for the package.
func CheckIntegrity(integrity string) error {
	_, err := Hash(integrity)
	return err
}
