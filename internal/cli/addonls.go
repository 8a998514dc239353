package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/addon"
)

// newAddonLs is the list, under the path of a command.
func newAddonLs(a *app, path string) *cobra.Command {
	name := path[strings.LastIndexByte(path, ' ')+1:]
	var asJSON, installed bool
	cmd := &cobra.Command{
		Use:                   name + " [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "List the features that there are, and which of them are here",
		Example:               strings.ReplaceAll("hermes addon ls\nhermes addon ls --installed\nhermes addon ls --json", "addon ls", path),
		Args:                  noArguments,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return runAddonLs(cmd.Context(), a, installed, asJSON) },
	}
	cmd.Flags().BoolVar(&installed, "installed", false, "only those that are here, or are wanted")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

// newTools is the name that messages of the Hermes agent send people to.
func newTools(a *app) *cobra.Command {
	cmd := newAddonLs(a, "tools")
	cmd.Short = "The same as hermes addon ls"
	return cmd
}

func runAddonLs(ctx context.Context, a *app, installed, asJSON bool) error {
	status := a.addons(nil).Status(ctx)
	list := []addon.FeatureStatus{}
	for _, f := range status.Features {
		if !installed || f.Wanted || f.State == addon.Installed {
			list = append(list, f)
		}
	}
	if asJSON {
		return cannot("write the list", writeJSON(a.stdout, list))
	}
	table := [][]cell{{{"FEATURE", bold}, {"STATE", bold}, {"LOCK", bold}, {"WHAT IT IS FOR", bold}}}
	for _, f := range list {
		table = append(table, []cell{{f.Name, ""}, addonState(f.State), {orDash(string(f.Lock)), ""}, {f.For, ""}})
	}
	if err := writeTable(a.stdout, a.paint(), table); err != nil {
		return cannot("write the list", err)
	}
	a.tellAddons(status)
	return nil
}

// tellAddons says once what keeps all features away.
func (a *app) tellAddons(s addon.Status) {
	switch {
	case s.Problem != "":
		a.say("%s", s.Problem)
	case s.Refusal != "":
		a.say("%s", s.Refusal)
	}
}

func addonState(s addon.State) cell {
	switch s {
	case addon.Installed, addon.Core:
		return cell{string(s), green}
	case addon.Failed:
		return cell{string(s), red}
	case addon.Outdated:
		return cell{string(s), yellow}
	case addon.Unavailable:
		return cell{string(s), faint}
	}
	return cell{string(s), ""}
}
