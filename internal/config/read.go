package config

import (
	"os"

	"hermes.example/hermes/internal/atomicfile"
)

// read reads a file of the home. Whoever owns that can have put something else in its place: a pipe that nobody
// writes to or a device without an end is an error. What hides the file from us, as people mount it there, is
// an empty one.
func read(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && isNull(info) {
		return nil, nil
	}
	return atomicfile.Read(path)
}
