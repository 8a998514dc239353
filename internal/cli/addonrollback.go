package cli

import (
	"context"

	"github.com/spf13/cobra"
)

func newAddonRollback(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "rollback [--json]",
		DisableFlagsInUseLine: true,
		Short:                 "Make the generation before this one current again",
		Long: "Goes one generation back, and so takes the last change back: an ensure, a remove or a rebuild. What is wanted follows.\n" +
			"The generation is looked at whole before it becomes current.",
		Example: "hermes addon rollback\nhermes addon rollback --json",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runAddonRollback(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func runAddonRollback(ctx context.Context, a *app, asJSON bool) error {
	g, err := a.addons(nil).Rollback(ctx)
	if err != nil {
		return cannot("go back", err)
	}
	if asJSON {
		return cannot("write the result", writeJSON(a.stdout, struct {
			Generation string `json:"generation"`
		}{g.Digest}))
	}
	a.say("%s is current again", short(g.Digest))
	return nil
}
