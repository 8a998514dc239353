package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/survey"
)

func newServiceStatus(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "status [FLAG…] SERVICE",
		DisableFlagsInUseLine: true,
		Short:                 "Say how a service is",
		Example:               "hermes service status dashboard\nhermes service status --json gateway-default",
		Args:                  needServices(1),
		ValidArgsFunction:     a.completeServices,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runServiceStatus(cmd.Context(), a, args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// needServices asks for names of services, at least one.
func needServices(most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usagef("cannot %s nothing: name a service; %q lists them", cmd.Name(), "hermes service ls")
		case len(args) > most:
			return usagef("cannot use %q: %s takes %s", args[most], cmd.CommandPath(), plural(most, "service", "services"))
		}
		return nil
	}
}

// manyServices is more than anybody names.
const manyServices = 1 << 16

func runServiceStatus(ctx context.Context, a *app, name string, asJSON bool) error {
	return a.supervised(ctx, func(services control.Operations) error {
		status, err := services.Service(ctx, name)
		if err != nil {
			return noService("look at", name, err)
		}
		if asJSON {
			return cannot("write the answer", writeJSON(a.stdout, status))
		}
		_, err = fmt.Fprintln(a.stdout, survey.Sentence(status, time.Now()))
		return cannot("write the answer", err)
	})
}
