package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/client"
	"hermes.example/hermes/internal/survey"
	"hermes.example/hermes/sandbox"
)

type lsOptions struct {
	target
	json bool
}

func newLs(a *app) *cobra.Command {
	var o lsOptions
	cmd := &cobra.Command{
		Use:                   "ls [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "List the sandboxes of this home",
		Long:                  "List the sandboxes of this home. All engines are meant, unless one is named.",
		Example:               "hermes sandbox ls\nhermes sandbox ls --json",
		Args:                  noArguments,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return runLs(cmd.Context(), a, &o) },
	}
	o.addEngine(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON array")
	return cmd
}

// sandboxRow is one sandbox as ls and inspect show it.
type sandboxRow struct{ client.Sandbox }

func runLs(ctx context.Context, a *app, o *lsOptions) error {
	managers, home, _, err := o.everyManager(a)
	if err != nil {
		return err
	}
	rows := []sandboxRow{} // a list, also when it is empty
	for _, m := range managers {
		defer a.close(m)
		infos, err := m.List(ctx, home)
		if err != nil {
			return cannot("list sandboxes", err)
		}
		for _, one := range survey.Ask(ctx, m, infos) {
			rows = append(rows, sandboxRow{one})
		}
	}
	slices.SortFunc(rows, func(x, y sandboxRow) int {
		return cmp.Or(cmp.Compare(x.Identity.Profile, y.Identity.Profile), cmp.Compare(x.Identity.Task, y.Identity.Task), cmp.Compare(x.Engine, y.Engine))
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if o.json {
		return cannot("write the list", writeJSON(a.stdout, rows))
	}
	table := [][]cell{{{"TASK", bold}, {"PROFILE", bold}, {"ENGINE", bold}, {"STATE", bold}, {"USE", bold}, {"COMMANDS", bold}, {"CREATED", bold}}}
	for _, row := range rows {
		use, commands := row.use()
		table = append(table, []cell{{printable(row.Identity.Task), ""}, {printable(row.Identity.Profile), ""}, {row.Engine, ""},
			row.state(), use, {commands, ""}, {row.created(), ""}})
	}
	return cannot("write the list", writeTable(a.stdout, a.paint(), table))
}

// created is empty for a fork that has not run yet.
func (r sandboxRow) created() string {
	if r.Created.IsZero() {
		return "-"
	}
	return r.Created.Local().Format(time.DateTime)
}

func (r sandboxRow) state() cell {
	if r.State == sandbox.Running {
		return cell{string(r.State), green}
	}
	return cell{string(r.State), faint}
}

// use tells who uses the sandbox, and how many commands run.
func (r sandboxRow) use() (use cell, commands string) {
	switch {
	case r.Foreign:
		return cell{"the agent's own", faint}, "-"
	case r.Problem != "":
		return cell{"no answer", red}, "-"
	case r.Status == nil:
		return cell{"-", ""}, "-"
	}
	commands = fmt.Sprint(r.Status.Commands)
	if r.Status.Connections > 0 || r.Status.Commands > 0 || r.Status.Processes > 0 {
		return cell{"in use", yellow}, commands
	}
	return cell{"idle " + span(r.Status.Idle), ""}, commands
}
