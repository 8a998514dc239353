package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/version"
)

func newVersion(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "version [--json]",
		DisableFlagsInUseLine: true,
		Short:                 "Print which build this is",
		Example:               "hermes version\nhermes version --json",
		Args:                  noArguments,
		RunE:                  func(*cobra.Command, []string) error { return runVersion(a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func runVersion(a *app, asJSON bool) error {
	info := version.Current()
	if asJSON {
		return cannot("write the answer", writeJSON(a.stdout, info))
	}
	_, err := fmt.Fprintln(a.stdout, info)
	return cannot("write the answer", err)
}

// addVersionFlag makes --version of the root what the command is.
func addVersionFlag(a *app, root *cobra.Command) {
	asked := root.Flags().Bool("version", false, "print which build this is")
	others := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *asked {
			return runVersion(a, false)
		}
		return others(cmd, args)
	}
}
