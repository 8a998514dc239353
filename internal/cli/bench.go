package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/bench"
)

type benchOptions struct {
	json       bool
	quick      bool
	only       string
	rounds     int
	supervisor bool
}

func newBench(a *app) *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:                   "bench [--quick] [--only WORD] [--rounds N] [--json]",
		DisableFlagsInUseLine: true,
		Short:                 "Measure Hermes beside the host's own fork+exec and bwrap",
		Long: "Everything is measured in this one run, interleaved, as medians and ratios, together with where the\n" +
			"time of a cold start goes. It makes sandboxes in a temporary home and removes them again.",
		Example: "hermes bench\nhermes bench --quick --rounds 30\nhermes bench --only Docker\nhermes bench --json > bench.json",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runBench(cmd.Context(), a, o) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&o.quick, "quick", false, "leave out the minute of waiting before memory is measured again")
	cmd.Flags().StringVar(&o.only, "only", "", "measure only the parts whose names have this `WORD`, as \"add-ons\" or \"Docker\"")
	cmd.Flags().IntVar(&o.rounds, "rounds", 100, "how often each thing is measured")
	cmd.Flags().BoolVar(&o.supervisor, "supervisor", false, "be the supervisor that bench measures")
	if err := cmd.Flags().MarkHidden("supervisor"); err != nil {
		panic(err) // there is such a flag
	}
	return cmd
}

func runBench(ctx context.Context, a *app, o benchOptions) error {
	if o.supervisor {
		return bench.Supervisor(a.stdin, a.stdout)
	}
	if o.rounds < 1 {
		return usagef("cannot use --rounds %d: give a positive number", o.rounds)
	}
	hermes, err := os.Executable()
	if err != nil {
		return cannot("find this program", err)
	}
	report, err := bench.Run(ctx, bench.Options{Rounds: o.rounds, Quick: o.quick, Only: o.only, Hermes: hermes,
		Progress: func(what string) { fmt.Fprintln(a.stderr, "measuring "+what) }})
	if err != nil {
		return err
	}
	if o.json {
		err = writeJSON(a.stdout, report)
	} else {
		err = report.Print(a.stdout)
	}
	if err != nil {
		return cannot("write the report", err)
	}
	if !report.Met() {
		return errors.New("cannot keep every budget on this machine; the rows say which")
	}
	return nil
}
