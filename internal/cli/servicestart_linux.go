package cli

import "github.com/spf13/cobra"

func newServiceStart(a *app) *cobra.Command {
	var o verbOptions
	cmd := &cobra.Command{
		Use:                   "start [FLAG…] SERVICE…",
		DisableFlagsInUseLine: true,
		Short:                 "Start services",
		Example: "hermes service start dashboard\n" +
			"hermes service start gateway-default gateway-coder",
		Args:              needServices(manyServices),
		ValidArgsFunction: a.completeServices,
		RunE:              func(cmd *cobra.Command, args []string) error { return runServices(cmd.Context(), a, toStart, &o, args) },
	}
	o.add(cmd)
	return cmd
}
