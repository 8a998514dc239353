package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/supervise/control"
)

func newHealth(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "health [--json]",
		DisableFlagsInUseLine: true,
		Short:                 "Say whether everything that is wanted runs",
		Long: "Asks the supervisor of this machine whether all services that are wanted are ready, and names those that are not, with\n" +
			"the reason. It is made for the health check of a container. Where there is no supervisor nothing can be said, and that\n" +
			"is not healthy.",
		Example:     "hermes health\nhermes health --json",
		Args:        noArguments,
		Annotations: map[string]string{kindAnnotation: judges},
		RunE:        func(cmd *cobra.Command, _ []string) error { return runHealth(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func runHealth(ctx context.Context, a *app, asJSON bool) error {
	var health control.Health
	err := a.supervised(ctx, func(services control.Operations) (err error) {
		health, err = services.Health(ctx)
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		health = control.Health{Reasons: []string{err.Error()}}
	}
	if asJSON {
		err = writeJSON(a.stdout, health)
	} else if health.Healthy {
		_, err = fmt.Fprintln(a.stdout, "healthy")
	} else {
		err = nil
	}
	if err == nil && !health.Healthy {
		err = errors.New("cannot call it healthy: " + strings.Join(health.Reasons, "; "))
	}
	return err
}
