package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"hermes.example/hermes/sandbox"
)

type forkOptions struct {
	target
	number int
	json   bool
}

func newFork(a *app) *cobra.Command {
	var o forkOptions
	cmd := &cobra.Command{
		Use:                   "fork [FLAG…] TASK [NAME…]",
		DisableFlagsInUseLine: true,
		Short:                 "Copy the files of a sandbox, at once and however many they are",
		Long: "Makes sandboxes that have the files of an idle one that is made of an image, and none of its processes. They are called\n" +
			"TASK-1, TASK-2 and so on, or as you say. Nothing is copied: all stand on the same files, and each keeps its own changes.\n" +
			"The original is ended for it. If it has sessions it is started again with them, and each fork with a copy of them;\n" +
			"otherwise all start at their next use.",
		Example: "hermes sandbox fork build            # makes build-1\n" +
			"hermes sandbox fork -n 3 build       # build-1, build-2 and build-3\n" +
			"hermes sandbox fork build try-clang",
		ValidArgsFunction: a.completeTasks,
		RunE:              func(cmd *cobra.Command, args []string) error { return runFork(cmd.Context(), a, &o, args) },
	}
	o.addProfile(cmd)
	o.addEngine(cmd)
	cmd.Flags().IntVarP(&o.number, "number", "n", 1, "how many, when they are not named")
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON array of their tasks")
	return cmd
}

// mostForks is how many are made at a time.
const mostForks = 100

func runFork(ctx context.Context, a *app, o *forkOptions, args []string) error {
	switch {
	case len(args) == 0:
		return usagef("cannot fork nothing: name the task; %q lists them", "hermes sandbox ls")
	case o.number < 1 || o.number > mostForks:
		return usagef("cannot make %d forks: give a number from 1 to %d", o.number, mostForks)
	}
	m, c, err := o.open(a)
	if err != nil {
		return err
	}
	defer a.close(m)
	id := o.of(args[0]).identity(c)
	names := args[1:]
	if len(names) == 0 {
		if names, err = o.freeNames(ctx, m, id); err != nil {
			return err
		}
	}
	var copies []sandbox.Identity
	for _, name := range names {
		copies = append(copies, o.of(name).identity(c))
	}
	carried, err := m.Fork(ctx, id, copies)
	if carried.Lost != "" {
		a.say("sessions of %q begin anew: %s", id.Task, carried.Lost)
	}
	if err != nil {
		return cannot("fork", err)
	}
	if o.json {
		return writeJSON(a.stdout, names)
	}
	for _, name := range names {
		fmt.Fprintln(a.stdout, printable(name))
	}
	return nil
}

// of is the same target with another task.
func (t target) of(task string) *target {
	t.task = task
	return &t
}

// freeNames finds names that no sandbox has, nor had.
func (o *forkOptions) freeNames(ctx context.Context, m *sandbox.Manager, id sandbox.Identity) ([]string, error) {
	var names []string
	for i := 1; len(names) < o.number; i++ {
		c := id
		c.Task = fmt.Sprintf("%s-%d", id.Task, i)
		kept, err := m.Keeps(ctx, c)
		if err != nil {
			return nil, err
		}
		if !kept {
			names = append(names, c.Task)
		}
	}
	return names, nil
}

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
	o.addProfile(cmd)
	o.addEngine(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON array")
	return cmd
}

func runDiff(ctx context.Context, a *app, o *diffOptions, args []string) error {
	if len(args) != 1 {
		return usagef("cannot compare %d sandboxes: name one task", len(args))
	}
	m, c, err := o.open(a)
	if err != nil {
		return err
	}
	defer a.close(m)
	changes, err := m.Changes(ctx, o.of(args[0]).identity(c))
	if err != nil {
		return cannot("compare", err)
	}
	return a.tellChanges(changes, o.json)
}

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
	o.addProfile(cmd)
	o.addEngine(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON array of what was changed")
	return cmd
}

func runCommit(ctx context.Context, a *app, o *commitOptions, args []string) error {
	if len(args) < 2 {
		return usagef("cannot commit: name the fork and the paths; %q lists what has changed", "hermes sandbox diff TASK")
	}
	m, c, err := o.open(a)
	if err != nil {
		return err
	}
	defer a.close(m)
	changes, err := m.Commit(ctx, o.of(args[0]).identity(c), args[1:])
	if err != nil {
		return cannot("commit", err)
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
