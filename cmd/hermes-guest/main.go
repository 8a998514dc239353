//go:build linux

// Command hermes-guest is PID 1 of every sandbox. People do not call it: the
// engines start it, with everything it needs as descriptors.
package main

import (
	"os"

	"hermes.example/hermes/internal/contained"
	"hermes.example/hermes/internal/guest/jail"
	"hermes.example/hermes/internal/guest/probe"
)

func main() {
	run := jail.Run
	switch {
	case len(os.Args) >= 2 && os.Args[1] == contained.Mode:
		run = func() error { return jail.RunContained(os.Args[2:]) }
	case len(os.Args) == 2 && os.Args[1] == contained.BridgeMode:
		run = jail.RunBridge
	case len(os.Args) == 2 && os.Args[1] == contained.EraseMode:
		run = jail.RunErase
	case len(os.Args) == 3 && os.Args[1] == "remove":
		run = func() error { return jail.RemoveTree(os.Args[2]) }
	case len(os.Args) >= 2 && os.Args[1] == probe.Mode:
		run = func() error { return probe.Run(os.Args[2:]) }
	case len(os.Args) == 4 && os.Args[1] == "unpack":
		run = func() error { return jail.Unpack(os.Args[2], os.Args[3]) }
	case len(os.Args) == 3 && os.Args[1] == "commit":
		run = func() error { return jail.RunCommit(os.Args[2]) }
	case len(os.Args) > 3 && os.Args[1] == "fold":
		run = func() error { return jail.RunFold(os.Args[2], os.Args[3:]) }
	case len(os.Args) > 2 && os.Args[1] == "changes":
		run = func() error { return jail.PrintChanges(os.Args[2], os.Args[3:]) }
	}
	if err := run(); err != nil {
		os.Stderr.WriteString("hermes-guest: " + err.Error() + "\n")
		os.Exit(1)
	}
}
