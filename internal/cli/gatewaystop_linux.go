package cli

import "github.com/spf13/cobra"

func newGatewayStop(a *app) *cobra.Command {
	var o verbOptions
	cmd := &cobra.Command{
		Use:                   "stop [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "Stop the gateway of a profile",
		Long:                  "Stops the gateway of the profile that is meant. It stays down until it is started, also after restarts.",
		Example: "hermes gateway stop\n" +
			"hermes -p coder gateway stop\n" +
			"hermes gateway stop --all",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runGateways(cmd.Context(), a, toStop, &o) },
	}
	o.add(cmd)
	cmd.Flags().BoolVar(&o.all, "all", false, "stop the gateways of all profiles; one that fails does not stop the others")
	return cmd
}
