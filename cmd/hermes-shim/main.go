//go:build linux

// Command hermes-shim is the hermes that people type in a running container. It is a program of its own, and a small
// one, because every command passes through it, as root.
package main

import (
	"os"

	"hermes.example/hermes/internal/entry"
	"hermes.example/hermes/internal/shim"
)

func main() {
	os.Exit(shim.Exec(entry.Program, os.Args[1:], os.Environ(), os.Stderr))
}
