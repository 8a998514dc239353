package vet

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

func pipe(name string) func(string) error {
	return func(tree string) error { return unix.Mkfifo(filepath.Join(tree, name), 0o644) }
}
