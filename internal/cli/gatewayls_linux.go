package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/survey"
)

func newGatewayLs(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "ls [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "List the gateways of all profiles",
		Example:               "hermes gateway ls\nhermes gateway ls --json",
		Args:                  noArguments,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return runGatewayLs(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

func runGatewayLs(ctx context.Context, a *app, asJSON bool) error {
	return a.supervised(ctx, func(services control.Operations) error {
		rows, err := gatewayRows(ctx, services)
		if err != nil {
			return cannot("list the gateways", err)
		}
		if asJSON {
			return cannot("write the list", writeJSON(a.stdout, rows))
		}
		table := [][]cell{{{"PROFILE", bold}, {"STATE", bold}, {"STATUS", bold}}}
		for _, row := range rows {
			table = append(table, []cell{{printable(row.Profile), ""}, stateCell(row.State), {survey.Sentence(row.Status, time.Now()), ""}})
		}
		return cannot("write the list", writeTable(a.stdout, a.paint(), table))
	})
}

// stateCell is a state in the colour that says whether somebody should look.
func stateCell(s supervise.State) cell {
	switch s {
	case supervise.Ready:
		return cell{string(s), green}
	case supervise.Parked:
		return cell{string(s), red}
	case supervise.Down:
		return cell{string(s), faint}
	}
	return cell{string(s), yellow}
}
