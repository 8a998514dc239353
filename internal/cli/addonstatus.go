package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/keeper"
	"hermes.example/hermes/internal/addon/store"
	"hermes.example/hermes/internal/configured"
)

func newAddonStatus(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "status [--json]",
		DisableFlagsInUseLine: true,
		Short:                 "Tell where add-ons are kept, for which interpreter, which generations there are, and which backends are warm",
		Example:               "hermes addon status\nhermes addon status --json",
		Args:                  noArguments,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return runAddonStatus(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// generation is one as JSON.
type generation struct {
	Digest    string    `json:"digest"`
	Features  []string  `json:"features"`
	Current   bool      `json:"current"`
	Previous  bool      `json:"previous"`
	Published time.Time `json:"published,omitzero"`
}

func runAddonStatus(ctx context.Context, a *app, asJSON bool) error {
	m := a.addons(nil)
	status := m.Status(ctx)
	list, err := m.Generations(ctx)
	if err != nil && status.Problem == "" {
		return err
	}
	kept, unheard := a.kept(ctx)
	if asJSON {
		all := []generation{}
		for _, g := range list {
			all = append(all, generation{g.Digest, g.Features, g.Current, g.Previous, g.Published})
		}
		return cannot("write it", writeJSON(a.stdout, struct {
			addon.Status
			Generations []generation   `json:"generations"`
			Keeper      *keeper.Status `json:"keeper"`
		}{status, all, kept}))
	}
	rows := [][]cell{{{"store", bold}, {printable(status.Target), ""}}, {{"runtime", bold}, {orDash(status.Runtime), ""}}, {{"interpreter", bold}, {orDash(status.ABI), ""}}}
	for _, g := range list {
		rows = append(rows, []cell{{"generation", bold}, {describeGeneration(g), ""}})
	}
	rows = append(rows, describeKept(kept, time.Now())...)
	if err := writeTable(a.stdout, a.paint(), rows); err != nil {
		return cannot("write it", err)
	}
	if unheard != nil {
		a.say("%v", unheard)
	}
	a.tellAddons(status)
	if status.Outdated {
		a.say("the current generation was made for another core; it can be used, and \"hermes addon rebuild\" makes one for this core")
	}
	return nil
}

func describeGeneration(g store.Listed) string {
	text := short(g.Digest)
	if !g.Published.IsZero() {
		text += "  " + g.Published.Local().Format("2006-01-02 15:04")
	}
	switch {
	case g.Current:
		text += "  current"
	case g.Previous:
		text += "  rollback leads here"
	}
	if len(g.Features) == 0 {
		return text + "  no features"
	}
	return text + "  " + strings.Join(g.Features, " ")
}

// kept is what the keeper of the profile says, if one runs.
func (a *app) kept(ctx context.Context) (*keeper.Status, error) {
	g, err := a.agent()
	if err != nil {
		return nil, err
	}
	return configured.Keeper(g.dir(), a.addonStore()).Status(ctx)
}

// describeKept has a row for each backend that is kept, or would be.
func describeKept(kept *keeper.Status, now time.Time) (rows [][]cell) {
	if kept == nil {
		return [][]cell{{{"warm", bold}, {"none", faint}}}
	}
	for _, b := range kept.Backends {
		text := b.Feature + "  " + string(b.Phase)
		if !b.Since.IsZero() {
			text += ", for " + span(now.Sub(b.Since))
		}
		if b.Calls > 0 {
			text += ", " + plural(b.Calls, "call", "calls")
		}
		if b.Reason != "" {
			text += ": " + oneLine(b.Reason)
		}
		rows = append(rows, []cell{{"warm", bold}, {text, ""}})
	}
	return append(rows, []cell{{"keeper", bold}, {fmt.Sprintf("process %d, for %s", kept.PID, span(now.Sub(kept.Started))), ""}})
}
