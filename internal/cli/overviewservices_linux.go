package cli

import (
	"context"
	"errors"
	"time"

	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/survey"
)

// lookAtServices finds the profiles of the home, each with its gateway, and what else is wanted of the supervisor.
func (a *app) lookAtServices(ctx context.Context, g agent) (agents []agentState, others []serviceState) {
	gateways, others := map[string]agentState{}, []serviceState{}
	unknown := "not supervised"
	err := a.supervised(ctx, func(services control.Operations) error {
		all, err := services.Services(ctx)
		for _, s := range all {
			text, is := survey.Sentence(s, time.Now()), conditionOf(s)
			if name, gateway := roster.ProfileOf(s.Name); gateway {
				gateways[name] = agentState{name, text, is}
			} else if s.Want == "up" || is.Up {
				others = append(others, serviceState{s.Name, text, is})
			}
		}
		return err
	})
	if err != nil && !errors.Is(err, survey.ErrNoSupervisor) {
		unknown = "not known: " + err.Error()
	}
	home := &profile.Home{Root: g.root}
	names, _, err := home.List()
	if err != nil {
		unknown = "not known: " + err.Error()
	}
	for _, name := range append([]string{profile.Default}, names...) {
		state, known := gateways[name]
		if !known {
			state = agentState{Profile: name, Gateway: unknown}
		}
		agents = append(agents, state)
	}
	return agents, others
}

func conditionOf(s supervise.Status) condition {
	return condition{Supervised: true, Up: s.Running(), Failing: s.State == supervise.Parked || s.State == supervise.Backoff}
}
