package cli

import (
	"context"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/addon"
)

func newAddonRebuild(a *app) *cobra.Command {
	var offline bool
	cmd := &cobra.Command{
		Use:                   "rebuild [--offline]",
		DisableFlagsInUseLine: true,
		Short:                 "Install everything that is wanted again, for the interpreter that is there now",
		Long: "Builds a new generation with all features that are wanted and takes nothing over from the current one: after the\n" +
			"interpreter changed, or when verify found something. Wheels that were fetched once are not fetched again.",
		Example: "hermes addon rebuild\nhermes addon rebuild --offline",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runAddonRebuild(cmd.Context(), a, offline) },
	}
	cmd.Flags().BoolVar(&offline, "offline", false, "use only what was fetched before")
	return cmd
}

func runAddonRebuild(ctx context.Context, a *app, offline bool) error {
	bar := a.newInstalling()
	defer bar.end()
	m := a.addons(func(o *addon.Options) { o.Offline, o.Progress = offline, bar.tell })
	leftOut, err := m.Rebuild(ctx)
	bar.end()
	if err != nil {
		return err
	}
	for name, why := range leftOut {
		a.say("%s is wanted, and cannot be had: %s", name, why)
	}
	a.compile(ctx, m)
	return nil
}
