package mounts

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"hermes.example/hermes/sandbox"
)

// Allowed refuses mounts through which a sandbox could write what Hermes believes,
// its configuration among it, or reach the sockets of the others, for which a
// read-only mount is enough.
func (h *Host) Allowed(m sandbox.Mount) error {
	if within(h.run, m.Source) || within(m.Source, h.run) {
		return fmt.Errorf("the sockets of all sandboxes are in %s; mount a directory without it", h.run)
	}
	if m.ReadOnly {
		return nil
	}
	for _, own := range []string{h.config.Home, h.config.SandboxRoot, h.config.File()} {
		if within(own, m.Source) {
			return fmt.Errorf("a sandbox could write Hermes' own files in %s; mount another directory, or mount it read-only", own)
		}
	}
	if within(m.Source, h.config.SandboxRoot) {
		return errors.New("it belongs to a sandbox; mount another directory, or mount it read-only")
	}
	return nil
}

// within says whether path is dir or below it, links followed.
func within(path, dir string) bool {
	rel, err := filepath.Rel(resolve(dir), resolve(path))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// resolve follows the links of as much of a path as exists.
func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolve(parent), filepath.Base(path))
}
