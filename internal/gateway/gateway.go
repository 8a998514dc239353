// Package gateway is a profile's door to the network: an HTTP server that gives the profile's sandboxes and add-ons to
// whoever has its key, by its API and by MCP.
//
// The command line runs it, usually as a service of a supervisor, and maps how it ended to an exit status. It writes
// down how it is where the next boot looks, and never what its owner wants: that is the roster's.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/gateway/api"
)

// State is where a gateway is in its life, as it writes it down: it starts, runs, drains when it is asked to end, and
// has stopped if that was its owner's wish. Ended by anybody else it is to come back, and so it says that it runs.
type State string

// The states.
const (
	Starting      State = "starting"
	Running       State = "running"
	Draining      State = "draining"
	Stopped       State = "stopped"
	StartupFailed State = "startup_failed"
)

// Records is where a gateway writes down how it is, and is told whether its owner stops it. *profile.Home is it.
type Records interface {
	Record(profile string, changes map[string]any) error
	StopPlanned(profile string, pid int) bool
}

// MCP is a door for models. Shutdown lets its calls finish until the context ends, and ends its sessions.
type MCP interface {
	http.Handler
	Shutdown(context.Context)
}

// Options are what a gateway works with.
type Options struct {
	// Profile is whose gateway it is, and Dir that one's directory.
	Profile, Dir string
	Settings     config.Gateway
	// Sandboxes opens the profile's, when they are needed first. They are the caller's to close, after the gateway.
	Sandboxes func() (api.Sandboxes, error)
	// Addons opens the profile's add-ons, in the same way.
	Addons func() (api.Addons, error)
	// MCP serves MCP clients at /mcp; nil for none.
	MCP MCP
	// Problem is why there are no settings; nil if there are.
	Problem error
	// Records is nil for a gateway that writes nothing down: one that somebody runs by hand beside a supervisor
	// must not be what the next boot starts.
	Records Records
	// Supervised says that somebody starts it again when it ends.
	Supervised bool
	// Replace ends another gateway of the profile instead of giving way to it.
	Replace bool
	// Restart asks it to end and be started again.
	Restart <-chan struct{}
	// Ready is called when it can be used; nil is not.
	Ready func()
	Log   *slog.Logger

	grace time.Duration // for one that is replaced; zero means evictGrace
}

// ErrRestart is how a gateway ends that is to be started again.
var ErrRestart = errors.New("the gateway is to be started again")

// ConfigError is what only a change of the configuration can mend: a start with the same one is of no use.
type ConfigError struct{ message string }

func (e *ConfigError) Error() string { return e.message }

// DrainTime bounds how long requests may go on after the gateway was asked to end. It is below what a supervisor
// waits before it kills.
const DrainTime = 4 * time.Second

// LeastKey is how long a key must be where others than this machine can try.
const LeastKey = 16

// check says what is wrong with the settings, so that it is of no use to start.
func check(o Options) error {
	s := o.Settings
	switch {
	case o.Problem != nil:
		return &ConfigError{o.Problem.Error()}
	case !config.IsLoopback(s.Host) && s.Key.Reveal() == "":
		return &ConfigError{fmt.Sprintf("cannot listen on %s without a key: set API_SERVER_KEY to at least %d characters, or API_SERVER_HOST to 127.0.0.1", s.Host, LeastKey)}
	case !config.IsLoopback(s.Host) && len(s.Key.Reveal()) < LeastKey:
		return &ConfigError{fmt.Sprintf("cannot listen on %s with a key of less than %d characters: set API_SERVER_KEY to a longer one, or API_SERVER_HOST to 127.0.0.1", s.Host, LeastKey)}
	}
	return nil
}
