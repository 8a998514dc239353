package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/sandbox"
)

type killOptions struct {
	processOptions
	signal, grace string
	json          bool
}

func newKill(a *app) *cobra.Command {
	var o killOptions
	cmd := &cobra.Command{
		Use:                   "kill [FLAG…] PROCESS…",
		DisableFlagsInUseLine: true,
		Short:                 "End background processes with all that they started",
		Long: "Ends processes and everything that they have started: all are asked to end (SIGTERM), and killed if they have not after\n" +
			"the grace. It returns when they are gone. PROCESS is an id, the beginning of one, or a name. With --signal the process\n" +
			"and its process group get that signal, and nothing is waited for.",
		Example: "hermes sandbox kill --task web server\n" +
			"hermes sandbox kill --task web --grace 30s server worker\n" +
			"hermes sandbox kill --task web --signal HUP server",
		Args:              needProcesses(manyProcesses),
		ValidArgsFunction: o.completeProcesses(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("signal") && (cmd.Flags().Changed("grace") || o.json) {
				return usagef("cannot use --signal with --grace or --json: nothing is waited for")
			}
			return runKill(cmd.Context(), a, &o, args)
		},
	}
	o.addTarget(a, cmd)
	f := cmd.Flags()
	f.StringVar(&o.signal, "signal", "", "send only this: `NAME`, like HUP, or number")
	f.StringVar(&o.grace, "grace", "5s", "`TIME` between the request to end and the kill: seconds, 90s, 5m; 0 kills at once")
	f.BoolVar(&o.json, "json", false, "print a JSON array of how they ended")
	mustComplete(cmd, "signal", cobra.FixedCompletions(sortedNames(signalNumbers), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runKill(ctx context.Context, a *app, o *killOptions, args []string) error {
	grace, err := parseTimeout("--grace", o.grace)
	if err != nil {
		return err
	}
	number := 0
	if o.signal != "" {
		if number, err = parseSignal(o.signal); err != nil {
			return err
		}
	}
	return o.among(ctx, a, "end the process", args, func(found []*sandbox.Process) error {
		var failures []error
		if number > 0 {
			for _, p := range found {
				failures = append(failures, p.Signal(ctx, number))
			}
			return errors.Join(failures...)
		}
		results := []sandbox.Result{}
		for _, p := range found {
			result, err := o.end(ctx, a, p, grace)
			failures = append(failures, err)
			results = append(results, result)
		}
		if o.json {
			failures = append(failures, cannot("write the answer", writeJSON(a.stdout, results)))
		}
		return errors.Join(failures...)
	})
}

func (o *killOptions) end(ctx context.Context, a *app, p *sandbox.Process, grace time.Duration) (sandbox.Result, error) {
	result, err := p.Kill(ctx, grace)
	if err != nil {
		return result, err
	}
	if n := len(result.Survivors); n > 0 {
		return result, fmt.Errorf("cannot end all of %s: %s would not end", p.ID, plural(n, "process", "processes"))
	}
	if !o.json {
		_, err = fmt.Fprintln(a.stdout, "ended", p.ID)
	}
	return result, cannot("write the answer", err)
}

// signalNumbers are Linux's, which every sandbox has, wherever its caller is.
var signalNumbers = map[string]int{
	"HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "USR1": 10, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15,
	"CHLD": 17, "CONT": 18, "STOP": 19, "TSTP": 20, "TTIN": 21, "TTOU": 22, "WINCH": 28,
}

// lastSignal is the highest number that there is.
const lastSignal = 64

func parseSignal(s string) (int, error) {
	if n, ok := signalNumbers[strings.TrimPrefix(strings.ToUpper(s), "SIG")]; ok {
		return n, nil
	}
	if n, err := strconv.Atoi(s); err == nil && n > 0 && n <= lastSignal {
		return n, nil
	}
	names := sortedNames(signalNumbers)
	slices.SortFunc(names, func(x, y string) int { return signalNumbers[x] - signalNumbers[y] })
	return 0, usagef("cannot use --signal %q: give a number, or one of %s", s, strings.Join(names, ", "))
}
