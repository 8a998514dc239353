package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/dashboard/doorbell"
)

func newDashboardURL(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "url [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "Print the address of the running dashboard",
		Long: "Prints the address of the dashboard of this home, which runs already. Where there is no other way to log in, it\n" +
			"logs in, once, and is a new one each time. The user that the dashboard runs as gets one, and root.",
		Example: "hermes dashboard url\nhermes dashboard url --json",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDashboardURL(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func runDashboardURL(ctx context.Context, a *app, asJSON bool) error {
	g, err := a.agent()
	if err != nil {
		return err
	}
	address, err := doorbell.Ring(ctx, g.root)
	if errors.Is(err, doorbell.ErrNobody) {
		return fmt.Errorf("cannot find the dashboard: %w (%s); start it with \"hermes up\" or \"hermes dashboard\"", err, g.root)
	}
	if err != nil {
		return cannot("find the dashboard", err)
	}
	if asJSON {
		return cannot("write the address", writeJSON(a.stdout, struct {
			URL string `json:"url"`
		}{address}))
	}
	_, err = fmt.Fprintln(a.stdout, address)
	return cannot("write the address", err)
}
