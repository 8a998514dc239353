package cli

import "github.com/spf13/cobra"

// addSupervision adds what is done to profiles, their gateways and the other services.
func addSupervision(a *app, root *cobra.Command) {
	root.AddCommand(newUp(a), newGateway(a), newProfile(a), newService(a), newHealth(a))
	mustComplete(root, "profile", a.completeProfiles)
}

// newGateway is the group of all that is done to gateways.
func newGateway(a *app) *cobra.Command {
	group := newGroup("gateway", "Start, stop and look at the gateways of profiles",
		"A gateway is a profile's door to the network. Its supervisor keeps it running, and what was asked for last is\n"+
			"what holds after the next restart.",
		"hermes gateway start\n"+
			"hermes -p coder gateway status\n"+
			"hermes gateway ls")
	group.AddCommand(newGatewayRun(a), newGatewayStart(a), newGatewayStop(a), newGatewayRestart(a), newGatewayStatus(a), newGatewayLs(a), newGatewayLogs(a))
	return group
}

// newProfile is the group of all that is done to profiles.
func newProfile(a *app) *cobra.Command {
	group := newGroup("profile", "Create, delete and look at profiles",
		"A profile is one agent of this home: its files, its settings, its memory and its gateway. The one that is\n"+
			"called default is the home itself.",
		"hermes profile create coder\n"+
			"hermes profile ls\n"+
			"hermes profile show coder")
	group.AddCommand(newProfileCreate(a), newProfileDelete(a), newProfileLs(a), newProfileShow(a))
	return group
}

// newService is the group of all that is done to services.
func newService(a *app) *cobra.Command {
	group := newGroup("service", "Start, stop and look at what the supervisor keeps running",
		"A service is what the supervisor of this machine keeps running: a gateway for each profile, and the dashboard.",
		"hermes service ls\n"+
			"hermes service restart dashboard\n"+
			"hermes service logs -f gateway-default")
	group.AddCommand(newServiceStart(a), newServiceStop(a), newServiceRestart(a), newServiceStatus(a), newServiceLs(a), newServiceLogs(a))
	return group
}
