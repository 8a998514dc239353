//go:build !linux

package docker

import "os"

// removeTree removes a directory that others have written.
func removeTree(dir string) error { return os.RemoveAll(dir) }
