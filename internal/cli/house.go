package cli

import (
	"context"
	"log/slog"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/dashboard/house"
	"hermes.example/hermes/internal/gateway/api"
	"hermes.example/hermes/internal/survey"
)

// newHouse is what the dashboard of a home shows and does.
func (a *app) newHouse(g agent, log *slog.Logger) *house.House {
	return house.New(house.Options{
		Home: g.root, Services: a.supervisor(), Profiles: g.profiles, Makers: a.engines(), Log: log,
		Settings: func(name string) (config.Lookup, error) {
			lookup, _, err := config.WithEnvFile(a.agentOf(g.root, name).lookup) // what is left out is for who runs the profile
			return lookup, err
		},
		Addons: func(ctx context.Context) survey.Addons { return survey.AddonsOf(ctx, a.addons(nil)) },
		Open: func(name string) house.Room {
			of := a.agentOf(g.root, name)
			return &profileRoom{profileSandboxes{app: a, agent: of, log: log}, profileAddons{app: a, agent: of, log: log}}
		},
	})
}

// profileRoom is a profile that somebody works with through the dashboard.
type profileRoom struct {
	boxes  profileSandboxes
	addons profileAddons
}

func (r *profileRoom) Sandboxes() (api.Sandboxes, error) { return r.boxes.open() }
func (r *profileRoom) Addons() (api.Addons, error)       { return r.addons.open() }

func (r *profileRoom) Close() {
	r.boxes.close()
	r.addons.close()
}
