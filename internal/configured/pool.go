package configured

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
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
	stop      context.CancelFunc
	work      sync.WaitGroup
}

// NewPool starts backends in this process. Their sandboxes are of the local engine, whichever the configuration chooses
// for commands: they have to see the runtime, the store and the network.
func NewPool(c config.Config, addons *addon.Manager, idle time.Duration, log *slog.Logger) (keeper.Pool, error) {
	engine, err := local.New(local.Options{Root: c.SandboxRoot})
	if err != nil {
		return nil, fmt.Errorf("cannot run backends here: %w", err)
	}
	sandboxes := Options{}.manage(c, engine)
	life, stop := context.WithCancel(context.Background())
	p := &pool{Pool: backend.NewPool(backend.Options{Addons: addons, Sandboxes: sandboxes, Home: c.Home, Idle: idle, Log: log}), sandboxes: sandboxes, log: log, stop: stop}
	if c.OrphanReaper {
		p.work.Go(func() { p.sweep(life, c.Home) })
	}
	return p, nil
}

// sweep removes the sandboxes of backends whose process was killed. No backend's own sandbox is an occasion for it: they
// are ephemeral.
func (p *pool) sweep(ctx context.Context, home string) {
	if _, err := p.sandboxes.Prune(ctx, home, false); err != nil && ctx.Err() == nil {
		p.log.Warn("cannot remove the sandboxes of backends that were killed", "why", err)
	}
}

func (p *pool) Close() {
	p.Pool.Close()
	p.stop()
	p.work.Wait()
	if err := p.sandboxes.Close(); err != nil {
		p.log.Warn("cannot end a sandbox of a backend", "why", err)
	}
}
