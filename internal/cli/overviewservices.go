package cli

import (
	"context"
	"errors"

	"hermes.example/hermes/internal/survey"
)

// lookAtServices finds the profiles of the home, each with its gateway, and what else is wanted of the supervisor.
func (a *app) lookAtServices(ctx context.Context, g agent) (agents []agentState, others []serviceState) {
	gateways, others := map[string]agentState{}, []serviceState{}
	unknown := "not supervised"
	all, err := survey.Services(ctx, a.supervisor())
	for _, s := range all {
		is := conditionOf(s)
		if s.Kind == survey.Gateway {
			gateways[s.Profile] = agentState{s.Profile, s.Text, is}
		} else if s.Want == "up" || is.Up {
			others = append(others, serviceState{s.Name, s.Text, is})
		}
	}
	if err != nil && !errors.Is(err, survey.ErrNoSupervisor) {
		unknown = "not known: " + err.Error()
	}
	names, err := g.profiles()
	if err != nil {
		unknown = "not known: " + err.Error()
	}
	for _, name := range names {
		state, known := gateways[name]
		if !known {
			state = agentState{Profile: name, Gateway: unknown}
		}
		agents = append(agents, state)
	}
	return agents, others
}

func conditionOf(s survey.Service) condition {
	return condition{Supervised: true, Up: s.PID > 0, Failing: s.State == survey.Parked || s.State == survey.Backoff}
}
