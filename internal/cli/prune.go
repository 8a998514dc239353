package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/mounts"
	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/sandbox"
)

type pruneOptions struct {
	target
	all, yes, json bool
}

func newPrune(a *app) *cobra.Command {
	var o pruneOptions
	cmd := &cobra.Command{
		Use:                   "prune [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "Remove sandboxes that nobody has used for long, or all",
		Long: "Removes the sandboxes of this home that nobody has used for twice their lifetime (TERMINAL_LIFETIME_SECONDS, 300 s),\n" +
			"and traces of ones that died; their files stay. With --all it removes every trace of every sandbox of this home:\n" +
			"in use or not, with all files. On a terminal it asks first. All engines are meant, unless one is named.",
		Example: "hermes sandbox prune\nhermes sandbox prune --json\nhermes sandbox prune --all --yes",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runPrune(cmd.Context(), a, &o) },
	}
	o.addEngine(cmd)
	cmd.Flags().BoolVar(&o.all, "all", false, "remove everything, with all files")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runPrune(ctx context.Context, a *app, o *pruneOptions) error {
	managers, home, c, err := o.everyManager(a)
	if err != nil {
		return err
	}
	for _, m := range managers {
		defer a.close(m)
	}
	if o.all && !o.yes && isTerminal(a.stdin) {
		if err := a.confirm(ctx, fmt.Sprintf("Remove all sandboxes of %s with all their files? [y/N] ", printable(home))); err != nil {
			return err
		}
	}
	var report sandbox.PruneReport
	for _, m := range managers {
		r, pruneErr := m.Prune(ctx, home, o.all)
		report.Removed, report.Kept = append(report.Removed, r.Removed...), append(report.Kept, r.Kept...)
		report.Leftovers += r.Leftovers
		err = errors.Join(err, pruneErr)
	}
	if o.all {
		err = errors.Join(err, forgetMounts(c, home))
	}
	if writeErr := o.tell(a, report); err == nil {
		err = writeErr
	}
	return cannot("prune", err)
}

// forgetMounts removes what was copied for the mounts of all profiles of a home.
func forgetMounts(c config.Config, home string) error {
	named, err := os.ReadDir(filepath.Join(home, "profiles"))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, entry := range named {
		c.Home = profile.Dir(home, entry.Name())
		err = errors.Join(err, mounts.Forget(c))
	}
	c.Home = home
	return errors.Join(err, mounts.Forget(c))
}

func (o *pruneOptions) tell(a *app, r sandbox.PruneReport) error {
	if o.json {
		// Lists, also when they are empty.
		r.Removed, r.Kept = append([]sandbox.Identity{}, r.Removed...), append([]sandbox.Identity{}, r.Kept...)
		return writeJSON(a.stdout, r)
	}
	var b strings.Builder
	for _, id := range r.Removed {
		fmt.Fprintln(&b, "removed", label(id))
	}
	for _, id := range r.Kept {
		fmt.Fprintln(&b, "kept", label(id))
	}
	if r.Leftovers > 0 {
		fmt.Fprintln(&b, "removed", plural(r.Leftovers, "leftover", "leftovers"))
	}
	_, err := fmt.Fprint(a.stdout, b.String())
	return err
}

func label(id sandbox.Identity) string {
	if id.Profile == "default" {
		return printable(id.Task)
	}
	return printable(id.Task) + " of " + printable(id.Profile)
}

// confirm asks a person, on standard error because it is not a result.
func (a *app) confirm(ctx context.Context, question string) error {
	fmt.Fprint(a.stderr, question)
	answer := make(chan string, 1)
	go func() { // ends with the process at the latest: nothing else can end a read
		line, _ := bufio.NewReader(a.stdin).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.stderr)
		return ctx.Err()
	case said := <-answer:
		if said != "y" && said != "yes" {
			return errors.New("cannot go on without your yes: nothing was removed")
		}
		return nil
	}
}
