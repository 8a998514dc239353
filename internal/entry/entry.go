// Package entry says what a start of hermes-init means: the name that it was called by, the words after it, and
// the program that those words name.
//
// cmd/hermes-init asks it first, the command that puts the names into an image takes them from here. It only
// reads words: it starts nothing, and looks at no file but to see whether a word is a program.
package entry

import (
	"path/filepath"
	"slices"
)

// Where things are in an image.
const (
	// Program is the real hermes. The name that people type is the exec shim.
	Program = "/opt/hermes/.venv/bin/hermes"
	// Init is where hermes-init itself is, Shim where hermes-shim is, which runs Program as the service user.
	Init = "/opt/hermes/bin/hermes-init"
	Shim = "/opt/hermes/bin/hermes-shim"
	// Typed is the shim by the name that people type.
	Typed = "/opt/hermes/bin/hermes"
)

// Link is a name of one of the programs in an image.
type Link struct{ Name, To string }

// Links are all names: those that images before this one had go on working.
var Links = []Link{{Typed, Shim}, {"/init", Init}, {"/usr/bin/tini", Init}, {"/opt/hermes/docker/entrypoint.sh", Init}, {"/opt/hermes/docker/main-wrapper.sh", Init}}

// Call is one start of hermes-init, understood.
type Call struct {
	// Args are the container's command.
	Args []string
	// Deprecated is the old name that was used, if it is one to be told about.
	Deprecated string
}

// Understand reads the words of a start. Names of our own in front of the command are taken off, however many: an
// entrypoint of an older image is "/init" followed by the wrapper, and nothing is wrapped twice.
func Understand(argv []string) (c Call) {
	if len(argv) == 0 {
		return c
	}
	name, rest := filepath.Base(argv[0]), argv[1:]
	for {
		switch name {
		case "tini":
			rest = afterTiniFlags(rest)
		case "entrypoint.sh":
			c.Deprecated = name
		}
		if len(rest) == 0 || !isOurs(rest[0]) {
			c.Args = rest
			return c
		}
		name, rest = filepath.Base(rest[0]), rest[1:]
	}
}

// isOurs says whether a word of a command line is one of our names. A bare word is not: it may be a command of
// hermes.
func isOurs(word string) bool {
	return word == Init || slices.Contains(Links, Link{word, Init})
}
