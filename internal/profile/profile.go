// Package profile owns the agents of a home: what they are called, where their files are, what their owner wants
// of their gateways, and what the gateways last said of themselves.
//
// The roster, the command line, the gateway and hermes-init use it. It knows nothing of processes. What it finds on
// the volume was written by anybody: files of any size and kind, and links to anywhere. It reads what is well-formed,
// says what is not, and follows no link below the home.
package profile

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
)

// Default is the profile whose directory is the home itself. It always exists, and nothing else can have its name.
const Default = "default"

// LongestName leaves room for the prefix of a service in a file's name.
const LongestName = 251

// Mark is the file that makes a directory in "profiles" a profile.
const Mark = "SOUL.md"

// directory is where the named profiles are, in the home.
const directory = "profiles"

var (
	// ErrNotFound is the error of a name that no profile has.
	ErrNotFound = errors.New("there is no such profile")
	// ErrExists is the error of making a profile that there is.
	ErrExists = errors.New("it exists already")
)

var proper = regexp.MustCompile(`\A[a-z0-9][a-z0-9_-]*\z`)

// Check says what is wrong with a name, as a sentence that names it.
func Check(name string) error {
	switch {
	case len(name) > LongestName:
		return fmt.Errorf("cannot use %.20q… as the name of a profile: it is longer than %d characters", name, LongestName)
	case !proper.MatchString(name):
		return fmt.Errorf("cannot use %q as the name of a profile: it needs small letters, digits, \"-\" and \"_\", and begins with a letter or digit", name)
	}
	return nil
}

// Split tells of a HERMES_HOME which profile it is and which home it belongs to: a named profile's directory is
// "profiles/NAME" in it.
func Split(home string) (root, name string) {
	home = filepath.Clean(home)
	above := filepath.Dir(home)
	if filepath.Base(above) != directory {
		return home, Default
	}
	return filepath.Dir(above), filepath.Base(home)
}

// Dir is the directory of a profile in a home.
func Dir(root, name string) string {
	if name == Default {
		return root
	}
	return filepath.Join(root, directory, name)
}
