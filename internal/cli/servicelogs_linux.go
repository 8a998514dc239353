package cli

import (
	"context"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/supervise/control"
)

func newServiceLogs(a *app) *cobra.Command {
	var o serviceLogOptions
	cmd := &cobra.Command{
		Use:                   "logs [FLAG…] SERVICE",
		DisableFlagsInUseLine: true,
		Short:                 "Print what a service said",
		Example:               "hermes service logs --tail 20 gateway-default\nhermes service logs -f gateway-coder",
		Args:                  needServices(1),
		ValidArgsFunction:     a.completeServices,
		RunE:                  func(cmd *cobra.Command, args []string) error { return runServiceLogs(cmd.Context(), a, &o, args[0]) },
	}
	o.add(cmd)
	return cmd
}

func runServiceLogs(ctx context.Context, a *app, o *serviceLogOptions, name string) error {
	return a.supervised(ctx, func(services control.Operations) error {
		log, err := services.Log(ctx, name, o.tail, o.follow)
		if err != nil {
			return noService("show what was said by", name, err)
		}
		return cannot("show what "+name+" said", o.print(ctx, a, log, nil))
	})
}
