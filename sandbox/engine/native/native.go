// Package native is the engine that needs nothing but a Linux kernel: namespaces,
// seccomp, Landlock, cgroups, no daemon, no image and no root.
//
// A sandbox is a process tree whose PID 1 is hermes-guest. This package is the
// outer half: it describes the sandbox, starts the guest in its namespaces, maps
// ids, sets limits, and hands over. The inner half is internal/guest/jail. It
// must never make a weaker sandbox than was asked for, and never touch one of
// another home.
package native

import (
	"time"

	"hermes.example/hermes/internal/image"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/internal/host"
)

// Options of an engine.
type Options struct {
	// Root is where sandboxes keep their files; empty means "sandboxes" in
	// the home of each identity.
	Root string
	// Trace is told how long each step of a creation took; may be nil.
	Trace func(step string, took time.Duration)
	// Progress is told of images that are fetched; may be nil.
	Progress image.Progress
}

func (o Options) files() host.Files { return host.Files{Engine: "native", Root: o.Root} }

// dir is where an identity's sandbox keeps what must survive a reboot.
func (o Options) dir(id sandbox.Identity) string { return o.files().Of(id) }

func (o Options) rootOf(home string) string { return o.files().In(home) }

// AskDoctor ends errors about what a machine lacks.
const AskDoctor = `; run "hermes doctor"`
