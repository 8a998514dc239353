package cli

import "github.com/spf13/cobra"

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
