//go:build !linux

package doctor

import (
	"context"

	"hermes.example/hermes/internal/daemon"
)

func checks(*machine) []check {
	return []check{
		{name: "clock", look: clock},
		{name: "docker", look: containers(daemon.Docker)},
		{name: "podman", look: containers(daemon.Podman)},
		{name: "python", look: interpreter("python", "python3")},
		{name: "node", look: interpreter("node", "node")},
	}
}

func lastChecks(*machine) []check {
	return []check{{name: "sandbox", look: func(context.Context, *machine) []Finding {
		return []Finding{Bad.finding("sandbox", "run hermes on Linux 5.12 or newer, in a virtual machine for instance", "the native engine needs Linux")}
	}}}
}

// Inside does nothing here: there are no namespaces.
func Inside() error { return nil }
