package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/survey"
)

func newProfileDelete(a *app) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:                   "delete [FLAG…] NAME",
		DisableFlagsInUseLine: true,
		Short:                 "Delete a profile with all its files",
		Long: "Ends a profile's gateway and removes its directory with everything in it. This cannot be undone: it asks\n" +
			"first, unless --yes is given. What the gateway said stays in the logs of the home.",
		Example:           "hermes profile delete coder\nhermes profile delete --yes coder",
		Args:              needProfile,
		ValidArgsFunction: a.completeProfiles,
		RunE:              func(cmd *cobra.Command, args []string) error { return runProfileDelete(cmd.Context(), a, args[0], yes) },
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func runProfileDelete(ctx context.Context, a *app, name string, yes bool) error {
	home, _, err := a.home()
	if err != nil {
		return err
	}
	if name != profile.Default && !yes {
		if gone, err := home.Gone(name); err != nil || gone {
			return cannot(fmt.Sprintf("delete the profile %q", name), errors.Join(err, profile.ErrNotFound))
		}
		if !isTerminal(a.stdin) {
			return usagef("cannot ask whether to delete the profile %q: standard input is no terminal; add --yes", name)
		}
		if err := a.confirm(ctx, fmt.Sprintf("Delete %s with everything in it? [y/N] ", printable(home.Dir(name)))); err != nil {
			return err
		}
	}
	if name != profile.Default {
		err = a.supervised(ctx, func(services control.Operations) error { return services.Unregister(ctx, name) })
		if err != nil && !errors.Is(err, survey.ErrNoSupervisor) {
			return cannot(fmt.Sprintf("delete the profile %q: its gateway does not end", name), err)
		}
	}
	if err := home.Delete(name); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, "deleted", name)
	return cannot("write the answer", err)
}
