package jail

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// RemoveTree removes what is in dir as root of a user namespace. Its creator maps
// the ids and then closes descriptor 3, which is what it waits for.
func RemoveTree(dir string) error {
	if _, err := io.Copy(io.Discard, os.NewFile(setupFD, "ready")); err != nil {
		return err
	}
	if err := becomeRoot(false); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("cannot remove %s: %w", dir, err)
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("cannot remove %s: %w", dir, err)
		}
	}
	return nil
}
