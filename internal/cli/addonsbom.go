package cli

import (
	"github.com/spf13/cobra"
)

func newAddonSbom(a *app) *cobra.Command {
	return &cobra.Command{
		Use:                   "sbom",
		DisableFlagsInUseLine: true,
		Short:                 "Print the bill of materials of what is installed, as CycloneDX JSON",
		Example:               "hermes addon sbom >addons.cdx.json",
		Args:                  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := a.addons(nil).SBOM(cmd.Context())
			if err == nil {
				_, err = a.stdout.Write(text)
			}
			return cannot("print the bill of materials", err)
		},
	}
}
