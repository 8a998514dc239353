package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/sandbox"
)

type psOptions struct {
	processOptions
	json bool
}

func newPs(a *app) *cobra.Command {
	var o psOptions
	cmd := &cobra.Command{
		Use:                   "ps [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "List the background processes of a sandbox",
		Long: "Lists the processes that were started with \"hermes sandbox start\": those that run, and those that ended within the\n" +
			"last day. One that ran when its sandbox ended is lost; its log is still there.",
		Example: "hermes sandbox ps --task web\nhermes sandbox ps --task web --json",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runPs(cmd.Context(), a, &o) },
	}
	o.addTarget(a, cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON array")
	return cmd
}

func runPs(ctx context.Context, a *app, o *psOptions) error {
	return o.inside(ctx, a, "list the processes", func(box *sandbox.Sandbox) error {
		all, err := box.Processes(ctx)
		if err != nil {
			return err
		}
		if o.json {
			return cannot("write the list", writeJSON(a.stdout, all))
		}
		table := [][]cell{{{"ID", bold}, {"NAME", bold}, {"STATE", bold}, {"FOR", bold}, {"LOG", bold}, {"COMMAND", bold}}}
		for _, p := range all {
			table = append(table, []cell{{p.ID, ""}, {orDash(p.Name), ""}, processState(p), {span(runTime(p)), ""}, {fmt.Sprint(p.LogEnd), ""}, {commandText(p), ""}})
		}
		return cannot("write the list", writeTable(a.stdout, a.paint(), table))
	})
}

// processState is a process's state with how it ended.
func processState(p sandbox.ProcessInfo) cell {
	switch {
	case p.State == sandbox.ProcessRunning:
		return cell{string(p.State), green}
	case p.State == sandbox.ProcessLost || p.Result == nil:
		return cell{string(p.State), red}
	case p.Result.Reason == sandbox.Exited && p.Result.Code == 0:
		return cell{"exited 0", faint}
	case p.Result.Reason == sandbox.Exited:
		return cell{fmt.Sprintf("exited %d", p.Result.Code), yellow}
	}
	return cell{fmt.Sprintf("%s %d", p.Result.Reason, p.Result.Code), yellow}
}

// runTime is how long a process has run, as far as is known.
func runTime(p sandbox.ProcessInfo) time.Duration {
	if p.State == sandbox.ProcessRunning {
		return max(0, time.Since(p.Started))
	}
	return max(0, p.Ended.Sub(p.Started))
}
