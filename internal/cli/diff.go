package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hermes.example/hermes/sandbox"
)

type diffOptions struct {
	target
	json bool
}

func newDiff(a *app) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:                   "diff [FLAG…] TASK",
		DisableFlagsInUseLine: true,
		Short:                 "List what a sandbox has changed since it was forked",
		Long: "Lists the paths that a sandbox has added (A), modified (M) or deleted (D) since it was forked, or, if it is no fork,\n" +
			"since it was made of its image. What lies in a new directory is not listed.",
		Example:           "hermes sandbox diff build-1\nhermes sandbox diff build-1 --json",
		ValidArgsFunction: a.completeTasks,
		RunE:              func(cmd *cobra.Command, args []string) error { return runDiff(cmd.Context(), a, &o, args) },
	}
	o.addProfile(a, cmd)
	o.addEngine(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON array")
	return cmd
}

func runDiff(ctx context.Context, a *app, o *diffOptions, args []string) error {
	if len(args) != 1 {
		return usagef("cannot compare %d sandboxes: name one task", len(args))
	}
	boxes, err := o.open(a)
	if err != nil {
		return err
	}
	defer a.close(boxes)
	changes, err := boxes.Manager().Changes(ctx, boxes.Identity(args[0]))
	if err != nil {
		return cannot("compare", err)
	}
	return a.tellChanges(changes, o.json)
}

// tellChanges prints changes, a line each.
func (a *app) tellChanges(changes []sandbox.Change, json bool) error {
	if json {
		return writeJSON(a.stdout, changes)
	}
	letters := map[sandbox.ChangeKind]cell{sandbox.Added: {"A", green}, sandbox.Modified: {"M", yellow}, sandbox.Deleted: {"D", red}}
	for _, change := range changes {
		if _, err := fmt.Fprintln(a.stdout, a.paint().of(letters[change.Kind]), printable(change.Path)); err != nil {
			return err
		}
	}
	return nil
}
