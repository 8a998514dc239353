package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/sandbox"
)

type eventsOptions struct {
	processOptions
	since        uint64
	follow, json bool
}

func newEvents(a *app) *cobra.Command {
	var o eventsOptions
	cmd := &cobra.Command{
		Use:                   "events [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "Print what happened to background processes",
		Long: "Prints the events of background processes: lines of output that a pattern matches (start --watch), and ends\n" +
			"(start --notify). Each has a number; the last 256 are kept, and a gap before them is told.",
		Example: "hermes sandbox events --task web\nhermes sandbox events --task web -f --since 17 --json",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runEvents(cmd.Context(), a, &o) },
	}
	o.addTarget(a, cmd)
	f := cmd.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "go on with what happens, until interrupted")
	f.Uint64Var(&o.since, "since", 0, "begin after the event of this `NUMBER`")
	f.BoolVar(&o.json, "json", false, "print one JSON object a line")
	return cmd
}

func runEvents(ctx context.Context, a *app, o *eventsOptions) error {
	return o.inside(ctx, a, "read the events", func(box *sandbox.Sandbox) error {
		if !o.follow {
			all, err := box.PastEvents(ctx, o.since)
			for _, e := range all {
				if err := o.tell(a, e); err != nil {
					return err
				}
			}
			return err
		}
		for e, err := range box.Events(ctx, o.since) {
			if err == nil {
				err = o.tell(a, e)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (o *eventsOptions) tell(a *app, e sandbox.Event) error {
	if o.json {
		return cannot("write an event", json.NewEncoder(a.stdout).Encode(e))
	}
	who := e.Process
	if e.Name != "" {
		who = printable(e.Name)
	}
	what := e.Message
	switch e.Kind {
	case sandbox.EventMatch:
		what = oneLine(e.Line)
		if e.Held > 0 {
			what += fmt.Sprintf("  (%s before it not told)", plural(e.Held, "match", "matches"))
		}
	case sandbox.EventExit:
		what = describeEnd(e.Result)
	case sandbox.EventGap:
		who, what = "-", fmt.Sprintf("%s no longer kept", plural(int(e.Missed), "event", "events"))
	}
	_, err := fmt.Fprintln(a.stdout, e.Number, e.Time.Local().Format(time.TimeOnly), who, e.Kind, what)
	return cannot("write an event", err)
}

func describeEnd(r *sandbox.Result) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%s %d", r.Reason, r.Code)
}
