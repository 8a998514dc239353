package cli

import (
	"context"

	"github.com/spf13/cobra"
)

type commitOptions struct {
	target
	json bool
}

func newCommit(a *app) *cobra.Command {
	var o commitOptions
	cmd := &cobra.Command{
		Use:                   "commit [FLAG…] TASK PATH…",
		DisableFlagsInUseLine: true,
		Short:                 "Make changes of a fork its original's",
		Long: "Makes what a fork has changed at the given paths, and below them, its original's: added, modified and deleted files, with\n" +
			"their owners and rights. The original must be idle; it is ended for it, and comes back at its next use.",
		Example: "hermes sandbox commit build-1 /workspace/src\n" +
			"hermes sandbox commit build-1 /              # all of it",
		ValidArgsFunction: a.completeTasks,
		RunE:              func(cmd *cobra.Command, args []string) error { return runCommit(cmd.Context(), a, &o, args) },
	}
	o.addProfile(a, cmd)
	o.addEngine(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON array of what was changed")
	return cmd
}

func runCommit(ctx context.Context, a *app, o *commitOptions, args []string) error {
	if len(args) < 2 {
		return usagef("cannot commit: name the fork and the paths; %q lists what has changed", "hermes sandbox diff TASK")
	}
	boxes, err := o.open(a)
	if err != nil {
		return err
	}
	defer a.close(boxes)
	changes, err := boxes.Manager().Commit(ctx, boxes.Identity(args[0]), args[1:])
	if err != nil {
		return cannot("commit", err)
	}
	return a.tellChanges(changes, o.json)
}
