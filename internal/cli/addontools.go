package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/configured"
)

func newAddonTools(a *app) *cobra.Command {
	var o useOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "tools [FLAG…] [FEATURE]",
		DisableFlagsInUseLine: true,
		Short:                 "List the tools of features",
		Long: "Lists the tools of one feature, which is installed and started if need be, or of all that are here. Features that are\n" +
			"not installed are named, and nothing is started for them.",
		Example:           "hermes addon tools\nhermes addon tools search.firecrawl\nhermes addon tools --json mcp.git",
		Args:              atMostOneFeature,
		ValidArgsFunction: completeCallable,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAddonTools(cmd.Context(), a, args, o, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array, with the schemas of arguments, and never ask")
	o.add(cmd)
	return cmd
}

func atMostOneFeature(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("cannot use %q: %s takes one feature", args[1], cmd.CommandPath())
	}
	return nil
}

func runAddonTools(ctx context.Context, a *app, args []string, o useOptions, asJSON bool) error {
	use, err := a.useBackends(o, asJSON)
	if err != nil {
		return err
	}
	defer use.Close()
	var all []configured.Offered
	if len(args) == 1 {
		all, err = use.offeredBy(ctx, args[0])
	} else {
		all = use.Offered(ctx)
	}
	if err != nil {
		return cannot("list the tools", err)
	}
	if asJSON {
		return cannot("write the list", writeJSON(a.stdout, all))
	}
	table := [][]cell{{{"FEATURE", bold}, {"STATE", bold}, {"TOOL", bold}, {"WHAT IT DOES", bold}}}
	for _, f := range all {
		if len(f.Tools) == 0 {
			table = append(table, []cell{{f.Feature, ""}, addonState(f.State), {"-", faint}, {oneLine(f.Reason), faint}})
		}
		for _, tool := range f.Tools {
			about, _, _ := strings.Cut(strings.TrimSpace(tool.Description), "\n")
			table = append(table, []cell{{f.Feature, ""}, addonState(f.State), {printable(tool.Name), ""}, {oneLine(about), ""}})
		}
	}
	return cannot("write the list", writeTable(a.stdout, a.paint(), table))
}

// offeredBy installs what a name means, and asks it.
func (u *backendUse) offeredBy(ctx context.Context, name string) ([]configured.Offered, error) {
	features, err := u.features(name)
	if err != nil {
		return nil, err
	}
	var all []configured.Offered
	for _, f := range features {
		if err := u.ensure(ctx, f.Name); err != nil {
			return nil, err
		}
		tools, err := u.Tools(ctx, f)
		if err != nil {
			return nil, err
		}
		all = append(all, configured.Offered{Feature: f.Name, State: addon.Installed, Tools: tools})
	}
	return all, nil
}
