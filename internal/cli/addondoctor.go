package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/doctor"
)

func newAddonDoctor(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "doctor [--json] FEATURE",
		DisableFlagsInUseLine: true,
		Short:                 "Say what keeps a feature from answering",
		Long: "Looks at all that a feature needs: the list, the switches, the runtime, its files, the variables that it declares (only\n" +
			"whether they are set), and at last starts it and asks for its tools. Each thing is one line, with FIX: and what mends\n" +
			"it below those that need it. Nothing is installed.",
		Example:           "hermes addon doctor search.firecrawl\nhermes addon doctor --json mcp.git",
		Args:              oneFeature,
		ValidArgsFunction: completeFeatures,
		Annotations:       map[string]string{kindAnnotation: judges},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAddonDoctor(cmd.Context(), a, args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

func runAddonDoctor(ctx context.Context, a *app, name string, asJSON bool) error {
	use, err := a.useBackends(useOptions{}, true)
	if err != nil {
		return err
	}
	defer use.Close()
	found := doctor.Feature(ctx, doctor.FeatureOptions{Name: name, Addons: use.Manager(), Variables: use.Lookup(), Tools: use.Tools})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if asJSON {
		err = writeJSON(a.stdout, found)
	} else {
		err = writeFindings(a, found)
	}
	if err != nil {
		return cannot("write the findings", err)
	}
	if doctor.CountBad(found) > 0 {
		return fmt.Errorf("cannot use %s: what is bad is above, with what mends it", printable(name))
	}
	return nil
}
