package cli

import "github.com/spf13/cobra"

func newServiceStop(a *app) *cobra.Command {
	var o verbOptions
	cmd := &cobra.Command{
		Use:                   "stop [FLAG…] SERVICE…",
		DisableFlagsInUseLine: true,
		Short:                 "Stop services",
		Example: "hermes service stop dashboard\n" +
			"hermes service stop gateway-default gateway-coder",
		Args:              needServices(manyServices),
		ValidArgsFunction: a.completeServices,
		RunE:              func(cmd *cobra.Command, args []string) error { return runServices(cmd.Context(), a, toStop, &o, args) },
	}
	o.add(cmd)
	return cmd
}
