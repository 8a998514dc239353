package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"hermes.example/hermes/client"
	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/gate"
	"hermes.example/hermes/internal/gateway/api"
	"hermes.example/hermes/internal/listen"
)

// ServeMCP serves MCP clients and nobody else, behind the same gate as a gateway, and is none: it takes no profile's place
// and writes nothing down. When ctx ends it stops accepting, lets calls finish within DrainTime, and returns. Ready, which
// may be nil, is told where it listens.
func ServeMCP(ctx context.Context, s config.Gateway, door MCP, log *slog.Logger, ready func(net.Addr)) error {
	if err := check(Options{Settings: s}); err != nil {
		return err
	}
	if s.Key.Reveal() == "" {
		return &ConfigError{"cannot serve MCP over HTTP without a key: set API_SERVER_KEY, which clients send as Authorization: Bearer"}
	}
	listener, err := listen.TCP(ctx, s.Host, s.Port)
	if err != nil {
		return err
	}
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case healthPath:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintln(w, `{"status":"ok"}`)
		case mcpPath:
			door.ServeHTTP(w, r)
		default:
			api.Refuse(w, api.Problem(client.CodeNoSuchRoute, "there is no such route here: MCP is served at "+mcpPath))
		}
	})
	keeper := newDoorkeeper(s, nil, func() bool { return ctx.Err() != nil })
	server := newServer(keeper.guard(inner), s, log)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	log.Info("listening", "address", listener.Addr().String(), "path", mcpPath)
	if ready != nil {
		ready(listener.Addr())
	}
	select {
	case err := <-failed:
		return fmt.Errorf("cannot go on listening: %w", err)
	case <-ctx.Done():
	}
	bound, cancel := context.WithTimeout(context.Background(), DrainTime)
	defer cancel()
	var ended sync.WaitGroup
	ended.Go(func() { door.Shutdown(bound) })
	if err := server.Shutdown(bound); err != nil {
		log.Warn("requests were cut off: they did not end in time", "within", DrainTime)
		server.Close()
	}
	ended.Wait()
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// connectionsPerPlace is how many connections there may be for each request that is let in at a time: most clients keep
// some that are idle.
const connectionsPerPlace = 2

// newServer is a server for what is behind a gate with these settings.
func newServer(h http.Handler, s config.Gateway, log *slog.Logger) *http.Server {
	return gate.NewServer(h, connectionsPerPlace*cmp.Or(s.Concurrency, config.DefaultGatewayConcurrency), log)
}
