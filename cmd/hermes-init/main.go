//go:build linux

// Command hermes-init is the entrypoint of the image, under all of its names, and the hermes that root types in it.
package main

import (
	"os"

	"hermes.example/hermes/internal/entry"
	"hermes.example/hermes/internal/initd"
	"hermes.example/hermes/internal/shim"
)

func main() {
	call := entry.Understand(os.Args)
	if call.Role == entry.AsShim {
		os.Exit(shim.Exec(entry.Program, call.Args, os.Environ(), os.Stderr))
	}
	os.Exit(initd.Run(call))
}
