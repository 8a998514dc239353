package cli

import (
	"github.com/spf13/cobra"
)

func newAddonRemove(a *app) *cobra.Command {
	return &cobra.Command{
		Use:                   "remove FEATURE…",
		Aliases:               []string{"rm"},
		DisableFlagsInUseLine: true,
		Short:                 "Take features away",
		Long: "Publishes a generation without these features; what other features need stays. Processes that use the generation of\n" +
			"before keep it. No network is needed, and rollback takes it back.",
		Example:           "hermes addon remove search.exa",
		Args:              features,
		ValidArgsFunction: completeFeatures,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.addons(nil).Remove(cmd.Context(), args...) },
	}
}
