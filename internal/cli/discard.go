package cli

import (
	"context"

	"github.com/spf13/cobra"

	"hermes.example/hermes/sandbox"
)

func newDiscard(a *app) *cobra.Command {
	o := removeOptions{files: true}
	cmd := &cobra.Command{
		Use:                   "discard [FLAG…] TASK…",
		DisableFlagsInUseLine: true,
		Short:                 "Remove forks, with all that they have changed",
		Long:                  "Removes forks, in use or not, with all their files. What is no fork is refused: that is for \"hermes sandbox rm\".",
		Example:               "hermes sandbox discard build-1\nhermes sandbox discard build-1 build-2 --json",
		ValidArgsFunction:     a.completeTasks,
		RunE:                  func(cmd *cobra.Command, args []string) error { return runDiscard(cmd.Context(), a, &o, args) },
	}
	o.addProfile(a, cmd)
	o.addEngine(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runDiscard(ctx context.Context, a *app, o *removeOptions, tasks []string) error {
	if len(tasks) == 0 {
		return usagef("cannot discard nothing: name the fork; %q lists them", "hermes sandbox ls")
	}
	return o.each(ctx, a, tasks, func(m *sandbox.Manager, id sandbox.Identity) error {
		_, err := m.Original(ctx, id)
		if err == nil {
			err = m.Remove(ctx, id, o.files)
		}
		return cannot("discard", err)
	})
}
