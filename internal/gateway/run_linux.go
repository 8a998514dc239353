package gateway

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"hermes.example/hermes/internal/listen"
)

// Run is the whole life of a gateway: it becomes the only one of its profile, listens, and when the context ends or
// it is asked to restart it stops accepting, lets requests finish within DrainTime, and returns. Without an error it
// ended for good; ErrRestart wants it back; a *ConfigError says that it is of no use to try again.
func Run(ctx context.Context, o Options) error {
	wrong := check(o)
	if wrong != nil {
		o.Replace = false // what cannot run does not end what does
	}
	only, err := claim(ctx, o)
	if err != nil && wrong == nil {
		return err
	}
	if only != nil {
		defer only.release()
	}
	g := newGateway(o)
	if wrong != nil {
		if only != nil {
			g.enter(StartupFailed)
		}
		return wrong
	}
	return g.live(ctx)
}

// gateway is one that may run: the only one of its profile.
type gateway struct {
	Options
	door    *door
	handler http.Handler
	server  *http.Server
	failed  chan error // what Serve returned
}

func newGateway(o Options) *gateway {
	d := newDoor(o, os.Getpid(), time.Now())
	return &gateway{Options: o, door: d, handler: d.handler(), failed: make(chan error, 1)}
}

// enter goes over to a state and writes it down. A volume that cannot be written does not keep a gateway from working.
func (g *gateway) enter(s State) {
	g.door.state.Store(s)
	if g.Records == nil {
		return
	}
	if err := g.Records.Record(g.Profile, map[string]any{"gateway_state": s, "pid": g.door.pid}); err != nil {
		g.Log.Warn(err.Error())
	}
}

func (g *gateway) live(ctx context.Context) error {
	g.enter(Starting)
	listener, err := g.listen(ctx)
	if err != nil {
		g.enter(StartupFailed)
		return err
	}
	g.enter(Running)
	g.Log.Info("listening", "address", listener.Addr().String(), "profile", g.Profile)
	if key := g.Settings.Key.Reveal(); len(key) < LeastKey {
		g.Log.Warn("the key of this gateway (API_SERVER_KEY) is missing or shorter than it should be", "at_least", LeastKey)
	}
	if g.Ready != nil {
		g.Ready()
	}
	var end error
	select {
	case err := <-g.failed:
		return fmt.Errorf("cannot go on listening: %w", err)
	case <-g.door.restart:
		end = ErrRestart
	case <-g.Restart:
		end = ErrRestart
	case <-ctx.Done():
	}
	return g.drain(end)
}

func (g *gateway) listen(ctx context.Context) (net.Listener, error) {
	listener, err := listen.TCP(ctx, g.Settings.Host, g.Settings.Port)
	if err != nil {
		return nil, fmt.Errorf("%w; every profile needs a port of its own (API_SERVER_PORT)", err)
	}
	g.server = newServer(g.handler, g.Settings, g.Log)
	go func() { g.failed <- g.server.Serve(listener) }()
	return listener, nil
}

// drain ends a running gateway. Who asked decides what it leaves behind: its owner's stop is one; after anything
// else, a restart or the end of its container, it is to come back.
func (g *gateway) drain(end error) error {
	last := Running
	switch planned := g.Records != nil && g.Records.StopPlanned(g.Profile, g.door.pid); {
	case planned:
		last, end = Stopped, nil
	case g.Supervised:
		end = ErrRestart
	}
	g.enter(Draining)
	g.Log.Info("draining", "profile", g.Profile)
	ctx, cancel := context.WithTimeout(context.Background(), DrainTime)
	defer cancel()
	var told sync.WaitGroup
	told.Go(func() { g.door.api.Drain(ctx) }) // or Shutdown would wait for those who follow something
	if g.MCP != nil {
		told.Go(func() { g.MCP.Shutdown(ctx) })
	}
	defer told.Wait()
	if err := g.server.Shutdown(ctx); err != nil {
		g.Log.Warn("requests were cut off: they did not end in time", "within", DrainTime)
		g.server.Close()
	}
	<-g.failed // Serve has returned
	g.enter(last)
	return end
}
