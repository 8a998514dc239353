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
	// Init is where hermes-init itself is.
	Init = "/opt/hermes/bin/hermes-init"
	// Shim is the name of hermes-init that runs Program as the service user.
	Shim = "/opt/hermes/bin/hermes"
)

// Links are all names of hermes-init in an image: those that images before this one had go on working.
var Links = []string{Shim, "/init", "/usr/bin/tini", "/opt/hermes/docker/entrypoint.sh", "/opt/hermes/docker/main-wrapper.sh"}

// Role is what hermes-init is to be.
type Role int

// The roles.
const (
	AsInit Role = iota // boot, supervise, run the container's command
	AsShim             // run Program as the service user
)

// Call is one start of hermes-init, understood.
type Call struct {
	Role Role
	// Args are the container's command, or the shim's arguments.
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
	if name == filepath.Base(Shim) {
		return Call{Role: AsShim, Args: rest}
	}
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
	return word == Init || word != Shim && slices.Contains(Links, word)
}
