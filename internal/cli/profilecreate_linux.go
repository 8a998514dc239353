package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/survey"
)

func newProfileCreate(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "create [FLAG…] NAME",
		DisableFlagsInUseLine: true,
		Short:                 "Create a profile",
		Long: "Creates a profile with its directories, its settings and its " + profile.Mark + ", which says who the agent is. Its gateway gets\n" +
			"a port that no other profile has and a key of its own, is made known to the supervisor, if there is one, and stays down until it\n" +
			"is started. A name has small letters, digits, - and _.",
		Example: "hermes profile create coder\nhermes profile create --json coder",
		Args:    needProfile,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runProfileCreate(cmd.Context(), a, args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// needProfile asks for the name of one profile.
func needProfile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("cannot %s it: give the name of one profile; %q lists them", cmd.Name(), "hermes profile ls")
	}
	if err := profile.Check(args[0]); err != nil {
		return &usageError{err.Error()}
	}
	return nil
}

func runProfileCreate(ctx context.Context, a *app, name string, asJSON bool) error {
	g, err := a.agent()
	if err == nil {
		err = g.needHome()
	}
	if err != nil {
		return err
	}
	home := &profile.Home{Root: g.root}
	if err := home.Create(name); err != nil {
		return err
	}
	port, err := giveDoor(home, name)
	if err != nil {
		return fmt.Errorf("the profile is there, but not what its gateway needs: %w", err)
	}
	// The profile is there, whatever becomes of its gateway: "gateway start" makes that known as well.
	err = a.supervised(ctx, func(services control.Operations) error { return services.Register(ctx, name, false) })
	if err != nil && !errors.Is(err, survey.ErrNoSupervisor) && !errors.Is(err, supervise.ErrRegistered) {
		a.say("the profile is there, but its gateway is not known yet: %v", err)
	}
	if asJSON {
		return cannot("write the answer", writeJSON(a.stdout, profileRow{Profile: name, Directory: home.Dir(name), Port: port}))
	}
	_, err = fmt.Fprintf(a.stdout, "created %s in %s; its gateway listens on port %d\n", name, home.Dir(name), port)
	return cannot("write the answer", err)
}
