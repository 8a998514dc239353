// Package host is what engines have in common whose sandboxes are processes of
// this machine: how a sandbox is made and handed over, how it is found again, its
// state file, run directory and socket, how one that has died is told from one that
// lives, and how all of it goes away.
//
// The native and the local engine embed a Core and give it a Body, which is what
// differs between them: what a sandbox is made of, how it is ended, and whose its files
// are. It knows nothing of namespaces and mounts, and it must never signal a process
// of which it is not sure, nor touch a sandbox of another home or engine.
package host

import (
	"path/filepath"

	"hermes.example/hermes/sandbox"
)

// Names of what a sandbox has in its directory.
const (
	stateName = "state.json"
	// SpoolName is the guest's own directory: output and journal.
	SpoolName = "spool"
)

// KeptDirs are what a persistent sandbox keeps.
var KeptDirs = []string{"home", "workspace"}

// Files says where an engine's sandboxes keep what must survive a reboot.
type Files struct {
	// Engine is the engine's name; each has a directory of its own.
	Engine string
	// Root is the directory of all engines; empty means "sandboxes" in the home
	// of each identity.
	Root string
}

// Of is the directory of an identity's sandbox.
func (f Files) Of(id sandbox.Identity) string { return filepath.Join(f.In(id.Home), id.Name()) }

// In is the directory of all sandboxes of a home.
func (f Files) In(home string) string {
	root := f.Root
	if root == "" {
		root = filepath.Join(home, "sandboxes")
	}
	return filepath.Join(root, f.Engine)
}
