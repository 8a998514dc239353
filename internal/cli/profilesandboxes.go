package cli

import (
	"log/slog"
	"slices"
	"sync"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/configured"
)

// profileSandboxes are those of a profile whose gateway, or a dashboard for it, is served here. They are opened when they
// are needed: a server starts also where the daemon that makes its sandboxes does not answer yet.
type profileSandboxes struct {
	app   *app
	agent agent
	log   *slog.Logger

	mu    sync.Mutex
	boxes *configured.Sandboxes
}

// check says what only a change of the configuration can mend.
func (g *profileSandboxes) check() error {
	lookup, err := g.app.settled(g.agent)
	if err != nil {
		return err
	}
	c, err := config.Load(lookup)
	if err != nil {
		return err
	}
	if known := g.app.engineNames(); !slices.Contains(known, c.Engine) {
		return &configured.UnknownEngineError{Name: c.Engine, Known: known}
	}
	return nil
}

func (g *profileSandboxes) open() (*configured.Sandboxes, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.boxes != nil {
		return g.boxes, nil
	}
	lookup, err := g.app.settled(g.agent)
	if err != nil {
		return nil, err
	}
	g.boxes, err = configured.OpenSandboxes(configured.Options{
		Lookup: lookup, Home: g.agent.root, Profile: g.agent.name, Serves: true, Makers: g.app.makers, Log: g.log,
		Say: func(line string) { g.log.Warn(line) },
	})
	return g.boxes, err
}

func (g *profileSandboxes) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.boxes != nil {
		g.app.close(g.boxes)
	}
}
