package cli

import "github.com/spf13/cobra"

func newGatewayRestart(a *app) *cobra.Command {
	var o verbOptions
	cmd := &cobra.Command{
		Use:                   "restart [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "Restart the gateway of a profile",
		Long:                  "Ends the gateway of the profile that is meant and brings it back. One that is down is started.",
		Example: "hermes gateway restart\n" +
			"hermes -p coder gateway restart\n" +
			"hermes gateway restart --all",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runGateways(cmd.Context(), a, toRestart, &o) },
	}
	o.add(cmd)
	cmd.Flags().BoolVar(&o.all, "all", false, "restart the gateways of all profiles; one that fails does not stop the others")
	return cmd
}
