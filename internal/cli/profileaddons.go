package cli

import (
	"log/slog"
	"sync"

	"hermes.example/hermes/internal/configured"
)

// profileAddons are those of a profile whose gateway, or a dashboard for it, is served here. They are opened when they are needed.
type profileAddons struct {
	app   *app
	agent agent
	log   *slog.Logger

	mu     sync.Mutex
	addons *configured.Addons
}

func (g *profileAddons) open() (*configured.Addons, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.addons != nil {
		return g.addons, nil
	}
	lookup, err := g.app.settled(g.agent)
	if err != nil {
		return nil, err
	}
	options := configured.AddonOptions{Lookup: lookup, Dir: g.agent.dir(), Store: g.app.addonStore(), Addons: g.app.addonOptions(),
		Say: func(line string) { g.log.Warn(line) }}
	options.Addons.Log = g.log
	g.addons, err = configured.OpenAddons(options)
	return g.addons, err
}

func (g *profileAddons) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.addons != nil {
		g.addons.Close()
	}
}
