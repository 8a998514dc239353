package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/unavailable"
)

func newAddonInfo(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "info [--json] FEATURE",
		DisableFlagsInUseLine: true,
		Short:                 "Tell everything about a feature",
		Example:               "hermes addon info search.exa\nhermes addon info --json search.exa",
		Args:                  oneFeature,
		ValidArgsFunction:     completeFeatures,
		RunE:                  func(cmd *cobra.Command, args []string) error { return runAddonInfo(cmd.Context(), a, args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func runAddonInfo(ctx context.Context, a *app, name string, asJSON bool) error {
	all := a.addons(nil).Status(ctx).Features
	i := slices.IndexFunc(all, func(f addon.FeatureStatus) bool { return f.Name == name })
	if i < 0 {
		return unavailable.NotListed(name, feature.Closest(name))
	}
	f := all[i]
	if asJSON {
		return cannot("write it", writeJSON(a.stdout, f))
	}
	rows := [][]cell{
		{{"feature", bold}, {f.Name, ""}}, {{"for", bold}, {f.For, ""}}, {{"state", bold}, addonState(f.State)},
		{{"needs", bold}, {strings.Join(f.Specs, ", "), ""}}, {{"lock", bold}, {orDash(string(f.Lock)), ""}},
	}
	for what, list := range map[string][]string{"missing": f.Missing, "imports": f.Probes, "built from source": f.Sources, "compiled code": f.Native, "scripts that do not run": f.Scripts} {
		if len(list) > 0 {
			rows = append(rows, []cell{{what, bold}, {strings.Join(list, ", "), ""}})
		}
	}
	slices.SortFunc(rows[5:], func(x, y []cell) int { return strings.Compare(x[0].text, y[0].text) })
	if f.Reason != "" {
		rows = append(rows, []cell{{"why", bold}, {oneLine(f.Reason), ""}})
	}
	if f.State == addon.Available || f.State == addon.Outdated || f.State == addon.Failed {
		rows = append(rows, []cell{{"install", bold}, {fmt.Sprintf("hermes addon ensure %s", f.Name), ""}})
	}
	return cannot("write it", writeTable(a.stdout, a.paint(), rows))
}
