package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

var shells = []string{"bash", "fish", "powershell", "zsh"}

func newCompletion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script that completes hermes command lines",
		Long: "Prints a script for bash, zsh, fish or powershell. With it the shell completes commands, flags and the names\n" +
			"of tasks that have a sandbox.",
		Example: "hermes completion bash > /etc/bash_completion.d/hermes\n" +
			"hermes completion zsh > \"${fpath[1]}/_hermes\"\n" +
			"hermes completion fish > ~/.config/fish/completions/hermes.fish",
		ValidArgs:             shells,
		DisableFlagsInUseLine: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(shells, args[0]) {
				return usagef("cannot write a completion script: give one of %s", strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runCompletion(cmd.Root(), a, args[0]) },
	}
}

func runCompletion(root *cobra.Command, a *app, shell string) error {
	var err error
	switch shell {
	case "bash":
		err = root.GenBashCompletionV2(a.stdout, true)
	case "zsh":
		err = root.GenZshCompletion(a.stdout)
	case "fish":
		err = root.GenFishCompletion(a.stdout, true)
	case "powershell":
		err = root.GenPowerShellCompletionWithDesc(a.stdout)
	}
	return cannot("write the script", err)
}
