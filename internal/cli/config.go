package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/config"
)

// newConfig is the group of all that is done to the configuration.
func newConfig(a *app) *cobra.Command {
	group := newGroup("config", "Read and change the configuration of a profile",
		"The configuration is config.yaml in the profile's directory, and, for secrets, .env beside it. A KEY is names with\n"+
			"dots between them, as in terminal.timeout; one in capitals, like OPENROUTER_API_KEY, is a variable of .env.",
		"hermes config set terminal.timeout 300\n"+
			"hermes config get terminal.timeout\n"+
			"hermes -p coder config path")
	group.AddCommand(newConfigGet(a), newConfigSet(a), newConfigPath(a), newConfigBoot(a))
	return group
}

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

func newConfigSet(a *app) *cobra.Command {
	return &cobra.Command{
		Use:                   "set KEY VALUE",
		DisableFlagsInUseLine: true,
		Short:                 "Change the configuration",
		Long: "Sets a key, and leaves everything else in the file as it is, comments and order too. VALUE is YAML in one line:\n" +
			"5, true, [a, b]; what is none is a text. A key that Hermes knows takes only what it can understand; others take\n" +
			"anything. What runs already goes on as it is until it is started again.",
		Example: "hermes config set terminal.timeout 300\nhermes config set terminal.docker_volumes '[\"/data:/data:ro\"]'\nhermes config set OPENROUTER_API_KEY sk-or-1234",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("cannot tell what to set: give a key and its value, in quotes if it has spaces")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runConfigSet(cmd.Context(), a, args[0], args[1])
		},
	}
}

func runConfigSet(ctx context.Context, a *app, key, value string) error {
	g, err := a.agent()
	if err != nil {
		return err
	}
	if err := g.needHome(); err != nil {
		return err
	}
	release, err := g.alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	if config.IsVariable(key) {
		return config.SetVariable(g.dir(), key, value)
	}
	return config.Set(g.dir(), key, value)
}

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
