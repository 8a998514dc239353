package keeper

import (
	"slices"
	"strings"

	"hermes.example/hermes/internal/addon/backend"
)

// handed are the variables that a keeper has: what finds the home, the store, the runtime and places for files, and what
// every backend has. No secret of a backend is among them; those come with each call.
var handed = slices.Concat(backend.Passed, []string{
	"HOME", "USER", "LOGNAME", "TMPDIR", "XDG_RUNTIME_DIR",
	"HERMES_HOME", "HERMES_RUNTIME", "HERMES_LAZY_INSTALL_TARGET", "HERMES_DISABLE_LAZY_INSTALLS", "HERMES_MANAGED", "TERMINAL_SANDBOX_DIR",
})

// Environ is what a keeper gets of a caller's environment, in an order that is always the same. An empty variable is
// one that is not set.
func Environ(environ []string) (kept []string) {
	for _, variable := range environ {
		if name, value, _ := strings.Cut(variable, "="); value != "" && slices.Contains(handed, name) {
			kept = append(kept, variable)
		}
	}
	slices.Sort(kept)
	return slices.Compact(kept)
}
