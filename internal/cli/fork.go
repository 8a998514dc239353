package cli

import (
	"context"
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
	o.addProfile(a, cmd)
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
	boxes, err := o.open(a)
	if err != nil {
		return err
	}
	defer a.close(boxes)
	m, id := boxes.Manager(), boxes.Identity(args[0])
	names := args[1:]
	if len(names) == 0 {
		if names, err = o.freeNames(ctx, m, id); err != nil {
			return err
		}
	}
	var copies []sandbox.Identity
	for _, name := range names {
		copies = append(copies, boxes.Identity(name))
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
