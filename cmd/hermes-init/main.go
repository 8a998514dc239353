//go:build linux

// Command hermes-init is the entrypoint of the image, under all of its names.
package main

import (
	"os"

	"hermes.example/hermes/internal/entry"
	"hermes.example/hermes/internal/initd"
)

func main() {
	os.Exit(initd.Run(entry.Understand(os.Args)))
}
