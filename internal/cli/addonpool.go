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

// pool has backends, and the sandboxes that they run in.
type pool struct {
	*backend.Pool
	sandboxes *sandbox.Manager
	log       *slog.Logger
}

// newPool starts backends in this process. Their sandboxes are of the local engine, whichever the configuration chooses
// for commands: they have to see the runtime, the store and the network.
func newPool(c config.Config, addons *addon.Manager, idle time.Duration, log *slog.Logger) (keeper.Pool, error) {
	engine, err := local.New(local.Options{Root: c.SandboxRoot})
	if err != nil {
		return nil, cannot("run backends here", err)
	}
	sandboxes := newManager(c, engine)
	return &pool{backend.NewPool(backend.Options{Addons: addons, Sandboxes: sandboxes, Home: c.Home, Idle: idle, Log: log}), sandboxes, log}, nil
}

func (p *pool) Close() {
	p.Pool.Close()
	if err := p.sandboxes.Close(); err != nil {
		p.log.Warn("cannot end a sandbox of a backend", "why", err)
	}
}
