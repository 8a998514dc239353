package mounts

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
)

// Allowed refuses mounts through which a sandbox could write what Hermes believes,
// its configuration among it, or what HERMES_WRITE_SAFE_ROOT does not allow, or reach
// the sockets of the others, for which a read-only mount is enough.
func (h *Host) Allowed(m sandbox.Mount) error {
	if within(h.run, m.Source) || within(m.Source, h.run) {
		return fmt.Errorf("the sockets of all sandboxes are in %s; mount a directory without it", h.run)
	}
	if m.ReadOnly {
		return nil
	}
	root := h.config.RootHome() // where those of all profiles are
	for _, own := range []string{h.config.Home, h.config.SandboxRoot, h.config.File(), root, config.File(root)} {
		if within(own, m.Source) {
			return fmt.Errorf("a sandbox could write Hermes' own files in %s; mount another directory, or mount it read-only", own)
		}
	}
	if within(m.Source, h.config.SandboxRoot) {
		return errors.New("it belongs to a sandbox; mount another directory, or mount it read-only")
	}
	if err := h.writable(m); err != nil {
		return fmt.Errorf("%w; mount it read-only", err)
	}
	return nil
}

// leadsOut refuses a source whose way goes through a directory that sandboxes can
// write, and leaves it by a link: they may have put it there, to see at the next
// start what it names.
func leadsOut(written, real string, list []sandbox.Mount) error {
	if written == real {
		return nil // without any link
	}
	for _, m := range list {
		if !m.ReadOnly && !within(real, m.Source) && passes(written, m.Source) {
			return fmt.Errorf("a link leads out of %s, which sandboxes can write", m.Source)
		}
	}
	return nil
}

// passes says whether path, or a directory on the way to it, is within dir.
func passes(path, dir string) bool {
	for {
		if within(path, dir) {
			return true
		}
		parent := filepath.Dir(path)
		if parent == path {
			return false
		}
		path = parent
	}
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
