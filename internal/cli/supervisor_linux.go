package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/lease"
	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/survey"
)

// supervised calls do with the services of this home: those of "hermes up" or of hermes-init if one answers, or else those
// of s6 in an image that brings it.
func (a *app) supervised(ctx context.Context, do func(control.Operations) error) error {
	if a.services != nil {
		return do(a.services)
	}
	if socket, err := a.controlSocket(); err == nil && answers(socket) {
		client := control.Dial(socket)
		defer client.Close()
		return do(client)
	}
	if underS6(initName, a.scanDir()) {
		services, done, err := a.s6Services()
		if err != nil {
			return err
		}
		defer done()
		return do(services)
	}
	return a.noSupervisor()
}

func (a *app) controlSocket() (string, error) {
	home, _, err := a.home()
	if err != nil {
		return control.Find()
	}
	return control.FindOf(home.Root)
}

// noSupervisor is survey.ErrNoSupervisor, or who else supervises this home.
func (a *app) noSupervisor() error {
	home, _, err := a.home()
	if err != nil {
		return survey.ErrNoSupervisor
	}
	dir, err := os.Open(home.Root)
	if err != nil {
		return survey.ErrNoSupervisor
	}
	defer dir.Close()
	if held, _ := lease.Look(int(dir.Fd()), lease.Options{}); held != nil {
		return &elsewhereError{held}
	}
	return survey.ErrNoSupervisor
}

// elsewhereError is survey.ErrNoSupervisor where another container supervises the home.
type elsewhereError struct{ held *lease.HeldError }

func (e *elsewhereError) Error() string {
	return fmt.Sprintf("cannot ask a supervisor: %s supervises this home; ask it there", e.held.Name())
}

func (e *elsewhereError) Is(target error) bool { return target == survey.ErrNoSupervisor }

// answers says whether somebody listens: a supervisor that was killed leaves its socket behind.
func answers(socket string) bool {
	c, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// home is where the profiles are, and the profile that is meant.
func (a *app) home() (*profile.Home, string, error) {
	g, err := a.agent()
	return &profile.Home{Root: g.root}, g.name, err
}

// noGateway says of a gateway that is not there what to do about it.
func noGateway(name string, err error) error {
	if errors.Is(err, supervise.ErrNotRegistered) {
		return &roster.NoGatewayError{Profile: name}
	}
	return err
}

// completeProfiles offers the names of profiles.
func (a *app) completeProfiles(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	home, _, err := a.home()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names, _, err := home.List()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return append([]cobra.Completion{profile.Default}, names...), cobra.ShellCompDirectiveNoFileComp
}

// completeServices offers the names of services.
func (a *app) completeServices(cmd *cobra.Command, _ []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	err := a.supervised(cmd.Context(), func(services control.Operations) error {
		all, err := services.Services(cmd.Context())
		for _, s := range all {
			names = append(names, s.Name)
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
