package cli

import "github.com/spf13/cobra"

func newServiceRestart(a *app) *cobra.Command {
	var o verbOptions
	cmd := &cobra.Command{
		Use:                   "restart [FLAG…] SERVICE…",
		DisableFlagsInUseLine: true,
		Short:                 "Restart services",
		Example: "hermes service restart dashboard\n" +
			"hermes service restart gateway-default gateway-coder",
		Args:              needServices(manyServices),
		ValidArgsFunction: a.completeServices,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runServices(cmd.Context(), a, toRestart, &o, args)
		},
	}
	o.add(cmd)
	return cmd
}
