package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/config"
)

func newConfigGet(a *app) *cobra.Command {
	var reveal bool
	cmd := &cobra.Command{
		Use:                   "get [FLAG…] KEY",
		DisableFlagsInUseLine: true,
		Short:                 "Print what the configuration says",
		Long: "Prints the value of a key as it stands in the file; a section is printed as YAML. Secrets are not printed unless\n" +
			"--reveal says so: what is printed is often kept.",
		Example: "hermes config get terminal.timeout\nhermes config get terminal\nhermes config get --reveal OPENROUTER_API_KEY",
		Args:    needKey,
		RunE: func(_ *cobra.Command, args []string) error {
			return runConfigGet(a, args[0], reveal)
		},
	}
	cmd.Flags().BoolVar(&reveal, "reveal", false, "print secrets too")
	return cmd
}

func needKey(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("cannot tell which key is meant: give one, like terminal.timeout")
	}
	return nil
}

func runConfigGet(a *app, key string, reveal bool) error {
	g, err := a.agent()
	if err != nil {
		return err
	}
	var text string
	if config.IsVariable(key) {
		secret, found, err := config.GetVariable(g.dir(), key)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("cannot find %s: it is not set in %s", key, config.EnvFile(g.dir()))
		}
		text = secret.Reveal()
	} else {
		value, err := config.Get(g.dir(), key)
		if err != nil {
			return err
		}
		if value == nil {
			return fmt.Errorf("cannot find %s: it is not set in the configuration", key)
		}
		if text, err = config.Show(value, reveal); err != nil {
			return err
		}
	}
	if !reveal && (config.IsVariable(key) || config.IsSecret(key)) {
		return fmt.Errorf("cannot print %s: it may be a secret; use --reveal if it is meant to be seen", key)
	}
	_, err = fmt.Fprintln(a.stdout, text)
	return cannot("write the answer", err)
}
