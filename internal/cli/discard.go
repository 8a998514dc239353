package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

type discardOptions struct {
	target
	json bool
}

func newDiscard(a *app) *cobra.Command {
	var o discardOptions
	cmd := &cobra.Command{
		Use:                   "discard [FLAG…] TASK…",
		DisableFlagsInUseLine: true,
		Short:                 "Remove forks, with all that they have changed",
		Long:                  "Removes forks, in use or not, with all their files. What is no fork is refused: that is for \"hermes sandbox rm\".",
		Example:               "hermes sandbox discard build-1\nhermes sandbox discard build-1 build-2 --json",
		ValidArgsFunction:     a.completeTasks,
		RunE:                  func(cmd *cobra.Command, args []string) error { return runDiscard(cmd.Context(), a, &o, args) },
	}
	o.addProfile(cmd)
	o.addEngine(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runDiscard(ctx context.Context, a *app, o *discardOptions, tasks []string) error {
	if len(tasks) == 0 {
		return usagef("cannot discard nothing: name the fork; %q lists them", "hermes sandbox ls")
	}
	m, c, err := o.open(a)
	if err != nil {
		return err
	}
	defer a.close(m)
	report := removal{Removed: []string{}, Files: true}
	var failures []error
	for _, task := range tasks {
		id := o.of(task).identity(c)
		_, err := m.Original(ctx, id)
		if err == nil {
			err = m.Remove(ctx, id, true)
		}
		if err != nil {
			failures = append(failures, cannot("discard", err))
			continue
		}
		report.Removed = append(report.Removed, task)
		if !o.json {
			fmt.Fprintln(a.stdout, "removed", printable(task))
		}
	}
	if o.json {
		failures = append(failures, writeJSON(a.stdout, report))
	}
	return errors.Join(failures...)
}
