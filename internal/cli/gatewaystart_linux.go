package cli

import "github.com/spf13/cobra"

func newGatewayStart(a *app) *cobra.Command {
	var o verbOptions
	cmd := &cobra.Command{
		Use:                   "start [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "Start the gateway of a profile",
		Long: "Starts the gateway of the profile that is meant, now and after every restart, until it is stopped. A profile that was\n" +
			"made from outside is taken up. A gateway that is parked gets another chance.",
		Example: "hermes gateway start\n" +
			"hermes -p coder gateway start --wait 60s",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runGateways(cmd.Context(), a, toStart, &o) },
	}
	o.add(cmd)

	return cmd
}
