package gateway

import (
	"net/http"
	"sync/atomic"
	"time"

	"hermes.example/hermes/client"
	"hermes.example/hermes/internal/gateway/api"
	"hermes.example/hermes/internal/version"
)

// door is what the gateway says of itself, and the handlers behind its gate.
type door struct {
	profile string
	pid     int
	started time.Time
	// state is changed by the gateway while requests are answered.
	state atomic.Value
	// restart is asked of the gateway at most once.
	restart chan struct{}
	api     *api.API
	keeper  *doorkeeper
	mcp     MCP // nil for none
}

func newDoor(o Options, pid int, now time.Time) *door {
	d := &door{profile: o.Profile, pid: pid, started: now, restart: make(chan struct{}, 1), mcp: o.MCP}
	d.state.Store(Starting)
	d.api = api.New(api.Options{Gateway: d, Open: o.Sandboxes, Addons: o.Addons, Log: o.Log})
	d.keeper = newDoorkeeper(o.Settings, d.api.Metrics(), func() bool { return d.state.Load() == Draining })
	return d
}

// mcpPath is where MCP clients are served.
const mcpPath = "/mcp"

func (d *door) handler() http.Handler {
	inner := d.api.Handler()
	if d.mcp == nil {
		return d.keeper.guard(inner)
	}
	return d.keeper.guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == mcpPath {
			r.Pattern = mcpPath
			d.mcp.ServeHTTP(w, r)
			return
		}
		inner.ServeHTTP(w, r)
	}))
}

// Healthy says whether the gateway runs.
func (d *door) Healthy() bool { return d.state.Load() == Running }

// Status is how the gateway is.
func (d *door) Status() client.GatewayStatus {
	return client.GatewayStatus{Profile: d.profile, State: string(d.state.Load().(State)), PID: d.pid, Started: d.started.UTC(), Version: version.Current().Version}
}

// Restart asks the gateway to end and be started again.
func (d *door) Restart() error {
	select {
	case d.restart <- struct{}{}:
	default: // it is asked already
	}
	return nil
}
