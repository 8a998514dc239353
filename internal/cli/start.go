package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/forward"
	"hermes.example/hermes/sandbox"
)

type startOptions struct {
	execOptions
	name   string
	watch  []string
	notify bool
	input  bool
}

func newStart(a *app) *cobra.Command {
	var o startOptions
	cmd := &cobra.Command{
		Use:                   "start [FLAG…] [-c LINE | -- PROGRAM ARGUMENT…]",
		DisableFlagsInUseLine: true,
		Short:                 "Start a command in the background of a sandbox",
		Long: "Starts a command in the sandbox of a task and prints the id of its process, without waiting for its end. It gets\n" +
			"the environment that it would have with exec, of the session if one is named, and goes on when its caller is gone.\n" +
			"Output and error output go to a log, in order; of that the last 16 MiB are kept, for a day after the end.\n" +
			"As long as it runs the sandbox is in use.",
		Example: "hermes sandbox start --task web --name server -- python3 -m http.server 8000\n" +
			"hermes sandbox start --task build --notify -c 'make all && make check'\n" +
			"hermes sandbox start --task web --watch 'listening on' --watch '(?i)error' -- ./server",
		Annotations: map[string]string{kindAnnotation: starts},
		RunE:        func(cmd *cobra.Command, args []string) error { return runStart(cmd.Context(), a, &o, args) },
	}
	o.addTarget(a, cmd)
	o.addSession(cmd, "use directory, variables, functions and aliases of the session `NAME`, and change none")
	o.addFlags(cmd)
	o.addLine(cmd)
	o.spec.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.timeout, "timeout", "", "`TIME` after which the whole tree is ended: seconds, 90s, 5m (default never)")
	f.StringVar(&o.name, "name", "", "`NAME` that stands for the id; of the processes that run, one has it")
	f.StringArrayVar(&o.watch, "watch", nil, "`EXPRESSION` (RE2); a line of output that matches is an event; may be repeated")
	f.BoolVar(&o.notify, "notify", false, "make the end an event; nothing is watched then")
	f.BoolVar(&o.input, "input", false, "keep its standard input open for \"hermes sandbox write\"; without it the command reads end of file")
	f.BoolVar(&o.json, "json", false, "print one JSON object about the process, instead of its id")
	return cmd
}

func runStart(ctx context.Context, a *app, o *startOptions, argv []string) error {
	c, err := a.terminal()
	if err != nil {
		return err
	}
	command, err := o.program(a, argv)
	if err != nil {
		return err
	}
	b := sandbox.Background{Command: command, Name: o.name, Watch: o.watch, Notify: o.notify, Input: o.input}
	return o.inside(ctx, a, c, "start the process", func(box *sandbox.Sandbox, forwarded forward.Values) error {
		b.Env = forwarded.Under(b.Env)
		start := box.Start
		if o.session != "" {
			start = box.Session(o.session).Start
		}
		p, err := start(ctx, b)
		var failed *sandbox.NotStartedError
		if errors.As(err, &failed) {
			a.remark(failed.Result)
			return end(failed.Result)
		}
		if err != nil {
			return cannot("start the process", err)
		}
		if p.Recreated {
			a.say("%s", madeAnew)
		}
		if p.Started.Remark != "" {
			a.say("%s", p.Started.Remark)
		}
		if o.json {
			return cannot("write the answer", writeJSON(a.stdout, p.Started))
		}
		_, err = fmt.Fprintln(a.stdout, p.ID)
		return cannot("write the answer", err)
	})
}
