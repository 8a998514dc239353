package cli

import "github.com/spf13/cobra"

// addSupervision adds what is done to profiles, their gateways and the other services.
func addSupervision(a *app, root *cobra.Command) {
	root.AddCommand(newGateway(a))
}

// newGateway is the group of all that is done to gateways.
func newGateway(a *app) *cobra.Command {
	group := newGroup("gateway", "Start, stop and look at the gateways of profiles",
		"A gateway is a profile's door to the network. Its supervisor keeps it running, and what was asked for last is\n"+
			"what holds after the next restart.",
		"hermes gateway start\n"+
			"hermes -p coder gateway status\n"+
			"hermes gateway ls")
	return group
}
