// Package mcp is the door for models: a server of the Model Context Protocol that gives an agent a terminal, background
// processes and files in a sandbox, the web, and the tools of add-ons that are installed.
//
// "hermes mcp" serves it on standard input and output or on a port, and the gateway at /mcp. It turns calls of the protocol
// into calls of the toolbox and of add-ons, and their answers into results; what a tool may do is decided there. A command
// that fails is a result and never an error of the protocol. It must write nothing but messages where messages go.
package mcp

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/internal/version"
)

// Options are what a door works with.
type Options struct {
	// Sandboxes are the profile's, and Task the one that sessions work in.
	Sandboxes *configured.Sandboxes
	Task      string
	// AnyTask lets clients over HTTP name another task, with which their session begins: /mcp?task=NAME.
	AnyTask bool
	// Addons are the profile's; nil means that there is neither the web nor any other add-on.
	Addons *configured.Addons
	// Home is where what is too long for an answer is kept.
	Home     string
	Settings config.Tools
	// Secrets are values that no answer may hold, read for each command; may be nil.
	Secrets func() []config.Secret
	Log     *slog.Logger

	abandon time.Duration // zero means the default
	look    time.Duration // zero means the default
}

// Door is one server with any number of sessions. Its life: New, ServeLines or requests to Handler, Shutdown.
type Door struct {
	Options
	server *mcp.Server
	life   context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup
	looks  chan struct{} // asks for a look at which add-ons are there

	mu       sync.Mutex
	sessions map[*mcp.ServerSession]*session
	offered  map[string]string // the add-ons' tools that are listed, by their names, and whose they are
	calls    int               // under way
	draining bool
	drained  chan struct{} // closed when it drains and no call is under way
}

// New returns a door that nobody has come through yet.
func New(o Options) *Door {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.abandon == 0 {
		o.abandon = abandonAfter
	}
	if o.look == 0 {
		o.look = lookEvery
	}
	d := &Door{Options: o, sessions: make(map[*mcp.ServerSession]*session), offered: make(map[string]string),
		looks: make(chan struct{}, 1), drained: make(chan struct{})}
	d.life, d.stop = context.WithCancel(context.Background())
	d.server = mcp.NewServer(&mcp.Implementation{Name: "hermes", Title: "Hermes", Version: version.Version}, &mcp.ServerOptions{
		Instructions: d.instructions(),
		Logger:       o.Log,
		//lint:ignore SA1019 log messages are how clients of all versions with sessions are told of notices
		Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}, Tools: &mcp.ToolCapabilities{ListChanged: true}},
	})
	d.server.AddReceivingMiddleware(d.welcome)
	d.addTools()
	if d.Addons != nil {
		d.addWeb()
		d.work.Go(d.lookAtAddons)
	}
	return d
}

// errEnds is what a caller is told who comes too late.
var errEnds = errors.New("cannot take the call: this server is ending; call again when it is back")

// Shutdown ends the door: calls that are under way may finish until ctx ends, and are interrupted then. Afterwards every
// session is closed.
func (d *Door) Shutdown(ctx context.Context) {
	d.mu.Lock()
	if !d.draining {
		d.draining = true
		if d.calls == 0 {
			close(d.drained)
		}
	}
	d.mu.Unlock()
	select {
	case <-d.drained:
	case <-ctx.Done():
	}
	d.stop()
	<-d.drained
	for _, ss := range d.everySession() {
		ss.Close()
	}
	d.work.Wait()
}

// begin and end count the calls that are under way.
func (d *Door) begin() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.draining {
		return errEnds
	}
	d.calls++
	return nil
}

func (d *Door) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls--; d.draining && d.calls == 0 {
		close(d.drained)
	}
}

func (d *Door) everySession() []*mcp.ServerSession {
	var all []*mcp.ServerSession
	for ss := range d.server.Sessions() {
		all = append(all, ss)
	}
	return all
}
