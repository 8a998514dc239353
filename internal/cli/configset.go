package cli

import (
	"context"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/config"
)

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
