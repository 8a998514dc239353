package mounts

import (
	"fmt"
	"slices"
	"strings"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
)

// Bounded makes those of the mounts read-only that sandboxes may not write to: where HERMES_WRITE_SAFE_ROOT is set,
// the host's files outside of its directories. What a sandbox keeps for itself is none of them, nor is a volume that an
// engine keeps under a name. The warnings, of one line each, say which ones.
func (h *Host) Bounded(list []sandbox.Mount) (bounded []sandbox.Mount, warnings []string) {
	bounded = slices.Clone(list)
	for i, m := range bounded {
		if err := h.writable(m); err != nil {
			bounded[i].ReadOnly = true
			warnings = append(warnings, fmt.Sprintf("cannot mount %s at %s writable: %v; the sandbox has it read-only", m.Source, m.Target, err))
		}
	}
	return bounded, warnings
}

// writable says why a mount may not be written to.
func (h *Host) writable(m sandbox.Mount) error {
	if m.ReadOnly || h.roots == nil || slices.ContainsFunc(h.roots, func(root string) bool { return within(m.Source, root) }) {
		return nil
	}
	return fmt.Errorf("it is outside of %s (%s)", config.WriteSafeRoot, strings.Join(h.roots, ":"))
}
