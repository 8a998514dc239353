package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/survey"
)

func newServiceLs(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "ls [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "List the services of this machine",
		Example:               "hermes service ls\nhermes service ls --json",
		Args:                  noArguments,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return runServiceLs(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

func runServiceLs(ctx context.Context, a *app, asJSON bool) error {
	return a.supervised(ctx, func(services control.Operations) error {
		all, err := services.Services(ctx)
		if err != nil {
			return cannot("list the services", err)
		}
		if asJSON {
			return cannot("write the list", writeJSON(a.stdout, append([]supervise.Status{}, all...)))
		}
		table := [][]cell{{{"SERVICE", bold}, {"STATE", bold}, {"STATUS", bold}}}
		for _, s := range all {
			table = append(table, []cell{{printable(s.Name), ""}, stateCell(s.State), {survey.Sentence(s, time.Now()), ""}})
		}
		return cannot("write the list", writeTable(a.stdout, a.paint(), table))
	})
}
