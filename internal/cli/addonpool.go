package cli

import (
	"log/slog"
	"time"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/backend"
	"hermes.example/hermes/internal/addon/keeper"
	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/local"
)

// newPool starts backends in this process. Their sandboxes are of the local engine, whichever the configuration chooses
// for commands: they have to see the runtime, the store and the network.
func newPool(c config.Config, addons *addon.Manager, idle time.Duration, log *slog.Logger) (keeper.Pool, error) {
	engine, err := local.New(local.Options{Root: c.SandboxRoot})
	if err != nil {
		return nil, cannot("run backends here", err)
	}
	sandboxes := sandbox.NewManager(engine, sandbox.Options{NoSweep: true})
	return backend.NewPool(backend.Options{Addons: addons, Sandboxes: sandboxes, Home: c.Home, Idle: idle, Log: log}), nil
}
