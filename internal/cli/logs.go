package cli

import (
	"context"

	"github.com/spf13/cobra"

	"hermes.example/hermes/sandbox"
)

type logsOptions struct {
	processOptions
	follow, json bool
	tail         int
	offset       int64
	maxOutput    string
}

func newLogs(a *app) *cobra.Command {
	var o logsOptions
	cmd := &cobra.Command{
		Use:                   "logs [FLAG…] PROCESS",
		DisableFlagsInUseLine: true,
		Short:                 "Print the log of a background process",
		Long: "Prints what a background process has written, output and error output in order. PROCESS is its id, the beginning of\n" +
			"it, or its name. What is no longer kept is counted on standard error. Reading slows the process in no case.",
		Example: "hermes sandbox logs --task web server\n" +
			"hermes sandbox logs --task web -f --tail 20 server\n" +
			"hermes sandbox logs --task web --json --since-offset 4096 server   # goes on where the last answer's \"next\" said",
		Args:              needProcesses(1),
		ValidArgsFunction: o.completeProcesses(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			given := cmd.Flags().Changed
			switch {
			case given("tail") && given("since-offset"):
				return usagef("cannot use both --tail and --since-offset")
			case given("tail") && o.tail <= 0:
				return usagef("cannot use --tail %d: give a number of lines, at least 1", o.tail)
			case given("max-output") && !o.json:
				return usagef("cannot use --max-output without --json")
			}
			return runLogs(cmd.Context(), a, &o, args)
		},
	}
	o.addTarget(a, cmd)
	f := cmd.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "go on until the process has ended")
	f.IntVar(&o.tail, "tail", 0, "print only the last `N` lines")
	f.Int64Var(&o.offset, "since-offset", 0, "begin at the byte `OFFSET` of the output; below zero that many before the end")
	f.BoolVar(&o.json, "json", false, "print one JSON object with the text, where to go on, and the process")
	addMaxOutput(cmd, &o.maxOutput)
	return cmd
}

// logAnswer is what --json prints of a log.
type logAnswer struct {
	sandbox.LogPart
	Output       string `json:"output"`
	OutputBase64 string `json:"output_base64,omitempty"`
	OutputTotal  int64  `json:"output_total_chars,omitempty"`
}

func runLogs(ctx context.Context, a *app, o *logsOptions, args []string) error {
	keep, err := parseMaxOutput(o.maxOutput)
	if err != nil {
		return err
	}
	return o.among(ctx, a, "read the log", args, func(found []*sandbox.Process) error {
		options := sandbox.LogOptions{Offset: o.offset, Lines: o.tail, Follow: o.follow}
		if !o.json {
			part, err := found[0].Logs(ctx, options, a.stdout)
			if part.Missed > 0 {
				a.say("%d bytes of the log are no longer kept", part.Missed)
			}
			return err
		}
		text := &capture{limit: keep}
		part, err := found[0].Logs(ctx, options, text)
		if err != nil {
			return err
		}
		out := text.finish()
		return cannot("write the answer", writeJSON(a.stdout, logAnswer{part, out.text, out.base64, out.total}))
	})
}
