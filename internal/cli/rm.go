package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"hermes.example/hermes/sandbox"
)

func newRm(a *app) *cobra.Command {
	var o removeOptions
	cmd := &cobra.Command{
		Use:                   "rm [FLAG…] TASK…",
		DisableFlagsInUseLine: true,
		Short:                 "Remove sandboxes, in use or not",
		Long: "Ends sandboxes with all that runs in them. The files of " + sandbox.Home + " and " + sandbox.Workspace + " stay for the next sandbox of the\n" +
			"same task, unless --files is given; they can be removed later in the same way. A container that the Hermes agent\n" +
			"itself made for the task is removed if there is no sandbox of that name.",
		Example: "hermes sandbox rm build\n" +
			"hermes sandbox rm build test --files   # with what they kept\n" +
			"hermes sandbox rm --task build --profile work",
		ValidArgsFunction: a.completeTasks,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("task") {
				args = append(args, o.task)
			}
			return runRm(cmd.Context(), a, &o, args)
		},
	}
	o.addTarget(a, cmd)
	cmd.Flag("task").DefValue = "" // nothing is removed that was not named
	cmd.Flags().BoolVar(&o.files, "files", false, "remove what they kept, too")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runRm(ctx context.Context, a *app, o *removeOptions, tasks []string) error {
	if len(tasks) == 0 {
		return usagef("cannot remove nothing: name the task; %q lists them", "hermes sandbox ls")
	}
	return o.each(ctx, a, tasks, func(m *sandbox.Manager, id sandbox.Identity) error {
		return noSandbox("remove", id, remove(ctx, m, id, o.files))
	})
}

// remove removes a sandbox that is there, one that the Hermes agent made itself, or files
// that one left.
func remove(ctx context.Context, m *sandbox.Manager, id sandbox.Identity, files bool) error {
	_, err := m.Find(ctx, id)
	if !errors.Is(err, sandbox.ErrNotFound) {
		return m.Remove(ctx, id, files) // also one whose state cannot be read
	}
	foreign, foreignErr := m.RemoveForeign(ctx, id)
	switch {
	case foreignErr != nil:
		return foreignErr
	case foreign && files:
		return m.Remove(ctx, id, true)
	case foreign:
		return nil
	}
	kept, keepErr := m.Keeps(ctx, id)
	switch {
	case keepErr != nil:
		return keepErr
	case kept && files:
		return m.Remove(ctx, id, true)
	case kept:
		return errors.New("it was removed already, and its files are kept; add --files to remove them")
	}
	return err
}
