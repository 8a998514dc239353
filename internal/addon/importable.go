package addon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// importable says which probe of a feature would not be found in any of the trees. Nothing is imported: the code of a
// package runs when it is used, and not before.
func (p plan) importable(trees ...string) error {
	for _, part := range p.parts {
		for _, probe := range part.Probes {
			if !hasModule(trees, probe) {
				return fmt.Errorf("%s has no module %s", part.Name, probe)
			}
		}
	}
	return nil
}

// hasModule looks for a module as an interpreter would: a package, a file of Python, or an extension.
func hasModule(trees []string, name string) bool {
	for _, tree := range trees {
		at := filepath.Join(tree, filepath.FromSlash(strings.ReplaceAll(name, ".", "/")))
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			return true
		}
		if _, err := os.Stat(at + ".py"); err == nil {
			return true
		}
		entries, err := os.ReadDir(filepath.Dir(at))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), filepath.Base(at)+".") && strings.HasSuffix(e.Name(), ".so") {
				return true
			}
		}
	}
	return false
}
