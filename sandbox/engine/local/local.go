// Package local is the engine without isolation of its own, for use where something
// else is the boundary: inside a container in which namespaces are refused. It is
// never a substitute for another engine; it is used when it is asked for by name.
//
// A sandbox is a process tree whose first process is hermes-guest, beside everything
// else of the machine. Its commands see what their user sees. What can be had without
// namespaces they have: no new privileges, the system call filter, the contract's
// capabilities, Landlock's scopes, and trees that end as a whole. They can neither
// drive the guest nor pass themselves off as it; see internal/guest/mark.
//
// It must never promise what it cannot keep: a spec that asks for a mount, an image or
// a network of its own is refused, and the posture says what is not enforced.
package local

import (
	"hermes.example/hermes/sandbox/engine/internal/host"
)

// Options of an engine.
type Options struct {
	// Root is where sandboxes keep their files; empty means "sandboxes" in the
	// home of each identity.
	Root string
}

func (o Options) files() host.Files { return host.Files{Engine: "local", Root: o.Root} }
