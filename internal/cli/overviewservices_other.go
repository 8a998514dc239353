//go:build !linux

package cli

import "context"

// lookAtServices names the profile that is meant: services are supervised on Linux only.
func (a *app) lookAtServices(_ context.Context, g agent) ([]agentState, []serviceState) {
	return []agentState{{Profile: g.name, Gateway: "not supervised"}}, []serviceState{}
}
