package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/survey"
)

func newStatus(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "status [--json]",
		DisableFlagsInUseLine: true,
		Short:                 "Tell what there is here, and what to do next",
		Long: "Tells on one screen what there is: the home, its profiles and their gateways, sandboxes and the engine that makes\n" +
			"them, add-ons, and three commands that are worth typing next. hermes without a command does the same. It changes\n" +
			"nothing, asks every daemon for two seconds at most, and what it cannot find out it says.",
		Example: "hermes status\nhermes status --json",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runStatus(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func runStatus(ctx context.Context, a *app, asJSON bool) error {
	o, err := a.overview(ctx)
	if err != nil {
		return cannot("look around", err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if asJSON {
		return cannot("write the status", writeJSON(a.stdout, o))
	}
	p := a.paint()
	if err := writeTable(a.stdout, p, o.rows()); err != nil {
		return cannot("write the status", err)
	}
	rows := [][]cell{{}, {{"Next", bold}}}
	for _, s := range o.Next {
		rows = append(rows, []cell{{"  " + s.Command, green}, {s.For, faint}})
	}
	return cannot("write the status", writeTable(a.stdout, p, rows))
}

// screenful is how many profiles and services are shown each; those that need somebody come first.
const screenful = 5

func (o overview) rows() [][]cell {
	rows := [][]cell{{{o.Version, faint}}, {{"home", bold}, {printable(o.Home), ""}}}
	if o.Problem != "" {
		rows = append(rows, []cell{{"settings", bold}, {oneLine(o.Problem), red}})
	}
	for _, g := range shown(o.Agents, func(g agentState) bool { return g.Failing }) {
		rows = append(rows, []cell{{"profile", bold}, {g.Profile + ": gateway " + oneLine(g.Gateway), g.colour()}})
	}
	if n := len(o.Agents) - screenful; n > 0 {
		rows = append(rows, []cell{{"", ""}, {fmt.Sprintf("and %d more: hermes profile ls", n), faint}})
	}
	for _, s := range shown(o.Services, func(s serviceState) bool { return s.Failing }) {
		rows = append(rows, []cell{{"service", bold}, {s.Name + ": " + oneLine(s.Status), s.colour()}})
	}
	if o.Engine.Name != "" {
		rows = append(rows, []cell{{"engine", bold}, engineCell(o.Engine)}, []cell{{"sandboxes", bold}, {o.counts(), ""}})
	}
	return append(rows, []cell{{"add-ons", bold}, {addonText(o.Addons), ""}})
}

// shown is the beginning of a list that has first what fails.
func shown[T any](all []T, fails func(T) bool) (list []T) {
	for _, failing := range []bool{true, false} {
		for _, one := range all {
			if fails(one) == failing && len(list) < screenful {
				list = append(list, one)
			}
		}
	}
	return list
}

func (c condition) colour() string {
	switch {
	case c.Failing:
		return red
	case c.Up:
		return green
	}
	return ""
}

func engineCell(e survey.Engine) cell {
	if e.Problem != "" {
		return cell{fmt.Sprintf("%s (%s) cannot be used: %s", printable(e.Name), e.Why, oneLine(e.Problem)), red}
	}
	return cell{fmt.Sprintf("%s (%s)", printable(e.Name), e.Why), ""}
}

// counts leaves out engines that are not there and those that have nothing.
func (o overview) counts() string {
	var parts []string
	for _, c := range o.Sandboxes {
		var states []string
		if c.Running > 0 {
			states = append(states, fmt.Sprintf("%d running", c.Running))
		}
		if c.Stopped > 0 {
			states = append(states, fmt.Sprintf("%d stopped", c.Stopped))
		}
		if c.Problem != "" && !c.absent && c.Engine != o.Engine.Name {
			states = append(states, "not known: "+oneLine(c.Problem))
		}
		if len(states) > 0 {
			parts = append(parts, c.Engine+" "+strings.Join(states, ", "))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, "; ")
}

func addonText(c survey.Addons) string {
	switch installed := len(c.Installed); {
	case c.Problem != "":
		return "none: " + oneLine(c.Problem)
	case installed == 0:
		return fmt.Sprintf("none of %d", c.Features)
	case installed <= screenful:
		return strings.Join(c.Installed, " ")
	default:
		return fmt.Sprintf("%s and %d more", strings.Join(c.Installed[:screenful], " "), installed-screenful)
	}
}
