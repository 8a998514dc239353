package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

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
type sandboxRow struct {
	sandbox.Info
	// Status is absent when nothing runs, or when the guest does not answer.
	Status *sandbox.Status `json:"status,omitempty"`
	// Problem is why a running sandbox has no status.
	Problem string `json:"problem,omitempty"`
}

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
		rows = append(rows, askAll(ctx, m, infos)...)
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

const (
	// askBound is how long a guest may take to answer, askWidth how many are
	// asked at a time.
	askBound = 3 * time.Second
	askWidth = 16
)

// askAll asks the guests of running sandboxes for their status.
func askAll(ctx context.Context, m *sandbox.Manager, infos []sandbox.Info) []sandboxRow {
	rows := make([]sandboxRow, len(infos))
	places := make(chan struct{}, askWidth)
	var asking sync.WaitGroup
	for i, info := range infos {
		asking.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			rows[i] = ask(ctx, m, info)
		})
	}
	asking.Wait()
	return rows
}

func ask(ctx context.Context, m *sandbox.Manager, info sandbox.Info) sandboxRow {
	row := sandboxRow{Info: info}
	if info.State != sandbox.Running || info.Foreign {
		return row
	}
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	status, err := m.StatusOf(ctx, info.Identity)
	if err != nil {
		row.Problem = err.Error()
		return row
	}
	row.Status = &status
	return row
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
