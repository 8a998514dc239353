package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/survey"
)

func newGatewayStatus(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "status [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "Say how the gateway of a profile is",
		Long: "Says in one line whether the gateway of the profile that is meant is up, with its process id, or down, how it ended,\n" +
			"what is wanted of it, and why it waits or is parked.",
		Example: "hermes gateway status\nhermes -p coder gateway status --json",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runGatewayStatus(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func runGatewayStatus(ctx context.Context, a *app, asJSON bool) error {
	_, name, err := a.home()
	if err != nil {
		return err
	}
	return a.supervised(ctx, func(services control.Operations) error {
		status, err := services.Service(ctx, roster.ServiceName(name))
		if err != nil {
			return cannot("look at the gateway", noGateway(name, err))
		}
		if asJSON {
			return cannot("write the answer", writeJSON(a.stdout, gatewayRow{name, status}))
		}
		_, err = fmt.Fprintln(a.stdout, survey.Sentence(status, time.Now()))
		return cannot("write the answer", err)
	})
}
