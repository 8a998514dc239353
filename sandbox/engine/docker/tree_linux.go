package docker

import "hermes.example/hermes/internal/rmtree"

// removeTree removes a directory that others have written.
func removeTree(dir string) error { return rmtree.Remove(dir) }
