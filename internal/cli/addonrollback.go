package cli

import (
	"github.com/spf13/cobra"
)

func newAddonRollback(a *app) *cobra.Command {
	return &cobra.Command{
		Use:                   "rollback",
		DisableFlagsInUseLine: true,
		Short:                 "Make the generation before this one current again",
		Example:               "hermes addon rollback",
		Args:                  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			g, err := a.addons(nil).Rollback(cmd.Context())
			if err != nil {
				return cannot("go back", err)
			}
			a.say("%s is current again", short(g.Digest))
			return nil
		},
	}
}
