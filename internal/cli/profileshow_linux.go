package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/profile"
)

func newProfileShow(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "show [FLAG…] [NAME]",
		DisableFlagsInUseLine: true,
		Short:                 "Show a profile",
		Long:                  "Shows where a profile's files are, what is wanted of its gateway, what that last said of itself, and how it is.",
		Example:               "hermes profile show\nhermes profile show coder --json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return needProfile(cmd, args)
		},
		ValidArgsFunction: a.completeProfiles,
		RunE:              func(cmd *cobra.Command, args []string) error { return runProfileShow(cmd.Context(), a, args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func runProfileShow(ctx context.Context, a *app, args []string, asJSON bool) error {
	home, name, err := a.home()
	if err != nil {
		return err
	}
	if len(args) > 0 {
		name = args[0]
	}
	real, err := home.Real(name)
	if err == nil && !real {
		err = fmt.Errorf("%w; %q lists those that there are", profile.ErrNotFound, "hermes profile ls")
	}
	if err != nil {
		return cannot(fmt.Sprintf("show the profile %q", name), err)
	}
	row := a.profileRow(home, name, a.statuses(ctx))
	if asJSON {
		return cannot("write the answer", writeJSON(a.stdout, row))
	}
	next := "the gateway stays down at the next boot"
	if row.Autostart {
		next = "the gateway starts at the next boot"
	}
	table := [][]cell{
		{{"profile", bold}, {row.Profile, ""}}, {{"directory", bold}, {printable(row.Directory), ""}}, {{"wanted", bold}, {orDash(row.Desired), ""}},
		{{"last state", bold}, {orDash(row.Gateway), ""}}, {{"gateway", bold}, {row.gateway(), ""}}, {{"boot", bold}, {next, ""}},
	}
	return cannot("write the answer", writeTable(a.stdout, a.paint(), table))
}
