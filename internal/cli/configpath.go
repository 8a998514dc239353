package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/config"
)

func newConfigPath(a *app) *cobra.Command {
	return &cobra.Command{
		Use:                   "path",
		DisableFlagsInUseLine: true,
		Short:                 "Print where the configuration file is",
		Example:               "hermes config path\nhermes -p coder config path",
		Args:                  noArguments,
		RunE: func(*cobra.Command, []string) error {
			g, err := a.agent()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.stdout, config.File(g.dir()))
			return cannot("write the answer", err)
		},
	}
}
