package house

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"hermes.example/hermes/client"
	"hermes.example/hermes/internal/gateway/api"
	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/version"
)

// enter answers with the API of a profile's gateway, which knows nothing of what stands before its paths.
func (h *House) enter(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("profile")
	before := "/api/profiles/" + name
	if err := h.exists(name); err != nil {
		return err
	}
	if !strings.HasPrefix(r.URL.EscapedPath(), before) { // no name needs to be written in another way
		return errNowhere
	}
	room, leave, err := h.rooms.enter(name)
	if err != nil {
		return err
	}
	defer leave()
	http.StripPrefix(before, room.api.Metrics().Counted(room.api.Handler())).ServeHTTP(w, r)
	return nil
}

// exists says whether there is a profile of that name.
func (h *House) exists(name string) error {
	if profile.Check(name) == nil {
		names, err := h.Profiles()
		if slices.Contains(names, name) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("cannot enter the profile %q: %w", name, profile.ErrNotFound)
}

// keeper answers for the gateway of a profile through who keeps it.
type keeper struct {
	house   *House
	profile string
}

func (h *House) gatewayOf(name string) api.Gateway { return &keeper{h, name} }

// gatewayStates are what a gateway would say of itself.
var gatewayStates = map[supervise.State]string{
	supervise.Ready: "running", supervise.Up: "starting", supervise.Starting: "starting", supervise.Halting: "draining",
}

func (k *keeper) ask(do func(context.Context, control.Operations) error) error {
	ctx, cancel := context.WithTimeout(k.house.life, lookBound)
	defer cancel()
	return k.house.supervised(ctx, func(o control.Operations) error { return do(ctx, o) })
}

// Status is how the gateway is, as far as its supervisor knows.
func (k *keeper) Status() client.GatewayStatus {
	found := client.GatewayStatus{Profile: k.profile, State: "unknown", Version: version.Current().Version}
	k.ask(func(ctx context.Context, o control.Operations) error {
		s, err := o.Service(ctx, roster.ServiceName(k.profile))
		if err != nil {
			return err
		}
		if found.State = gatewayStates[s.State]; found.State == "" {
			found.State = "stopped"
		}
		found.PID, found.Started = s.PID, s.Since.UTC()
		return nil
	})
	return found
}

// Healthy says whether it runs.
func (k *keeper) Healthy() bool { return k.Status().State == "running" }

// Restart asks the supervisor.
func (k *keeper) Restart() error {
	return k.ask(func(ctx context.Context, o control.Operations) error {
		if err := o.Restart(ctx, roster.ServiceName(k.profile)); err != nil {
			return fmt.Errorf("cannot restart the gateway of %q: %w", k.profile, err)
		}
		return nil
	})
}
