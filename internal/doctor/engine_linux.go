package doctor

import (
	"context"
	"fmt"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/local"
	"hermes.example/hermes/sandbox/engine/native"
)

// engines says which engine makes the sandboxes here, and why that one.
func engines(_ context.Context, m *machine) []Finding {
	const name = "engine"
	switch engine, inside := m.config.Engine, m.inContainer(); {
	case engine == config.ImageEngine && inside:
		return []Finding{ok(name, "%s: the container is the boundary, and sandboxes share it", engine)}
	case engine == config.ImageEngine:
		return []Finding{Note.finding(name, "hermes config set terminal.backend "+config.DefaultEngine, "%s: chosen by the configuration; commands are not kept from the files of this machine", engine)}
	case engine == config.DefaultEngine:
		return []Finding{ok(name, "%s", engine)}
	default:
		return []Finding{ok(name, "%s: chosen by the configuration", engine)}
	}
}

// unlessChosen makes notes of what only the native engine needs where another one is chosen: it is worth knowing what
// would have to be changed, and nothing is broken.
func (m *machine) unlessChosen(found []Finding) []Finding {
	if m.config.Engine == config.DefaultEngine {
		return found
	}
	for i := range found {
		if found[i].Severity == Bad {
			found[i].Severity = Note
			found[i].Found = fmt.Sprintf("no %s sandboxes: %s", config.DefaultEngine, found[i].Found)
		}
	}
	return found
}

// tried is the engine that a real sandbox is made with.
func (m *machine) tried() (sandbox.Engine, error) {
	if m.config.Engine == config.ImageEngine {
		return local.New(local.Options{Root: m.config.SandboxRoot})
	}
	return native.New(m.engineOptions())
}
