package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/survey"
)

func newProfileLs(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "ls [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "List the profiles of this home",
		Long:                  "Lists the profiles of this home, what is wanted of their gateways, and, where there is a supervisor, how those are.",
		Example:               "hermes profile ls\nhermes profile ls --json",
		Args:                  noArguments,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return runProfileLs(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

// profileRow is one profile as it is printed.
type profileRow struct {
	Profile   string `json:"profile"`
	Directory string `json:"directory"`
	// Port is what its own files give its gateway; the container's environment wins over them.
	Port int `json:"port,omitempty"`
	// Desired and Gateway are what its state file says.
	Desired string `json:"desired_state,omitempty"`
	Gateway string `json:"gateway_state,omitempty"`
	// Autostart is whether the gateway comes back at the next boot.
	Autostart bool `json:"autostart"`
	// Status is how its gateway is; absent where nobody keeps one.
	Status *supervise.Status `json:"status,omitempty"`
}

func runProfileLs(ctx context.Context, a *app, asJSON bool) error {
	home, _, err := a.home()
	if err != nil {
		return err
	}
	names, odd, err := home.List()
	if err != nil {
		return err
	}
	for _, sentence := range odd {
		a.say("%s", sentence)
	}
	statuses := a.statuses(ctx)
	rows := []profileRow{}
	for _, name := range append([]string{profile.Default}, names...) {
		rows = append(rows, a.profileRow(home, name, statuses))
	}
	if asJSON {
		return cannot("write the list", writeJSON(a.stdout, rows))
	}
	table := [][]cell{{{"PROFILE", bold}, {"WANTED", bold}, {"GATEWAY", bold}}}
	for _, row := range rows {
		table = append(table, []cell{{row.Profile, ""}, {orDash(row.Desired), ""}, {row.gateway(), ""}})
	}
	return cannot("write the list", writeTable(a.stdout, a.paint(), table))
}

// statuses are those of the gateways, by profile. Where nobody keeps gateways there are none.
func (a *app) statuses(ctx context.Context) map[string]supervise.Status {
	found := map[string]supervise.Status{}
	err := a.supervised(ctx, func(services control.Operations) error {
		rows, err := gatewayRows(ctx, services)
		for _, row := range rows {
			found[row.Profile] = row.Status
		}
		return err
	})
	if err != nil && !errors.Is(err, survey.ErrNoSupervisor) {
		a.say("how the gateways are is not known: %v", err)
	}
	return found
}

func (a *app) profileRow(home *profile.Home, name string, statuses map[string]supervise.Status) profileRow {
	state, warning := home.State(name)
	if warning != nil {
		a.say("%v", warning)
	}
	row := profileRow{Profile: name, Directory: home.Dir(name), Desired: state.Desired, Gateway: state.Gateway, Autostart: state.Autostart()}
	if door, err := doorOf(home.Dir(name)); err == nil {
		row.Port = door.Port
	}
	if status, known := statuses[name]; known {
		row.Status = &status
	}
	return row
}

func (r profileRow) gateway() string {
	if r.Status == nil {
		return "not supervised"
	}
	return survey.Sentence(*r.Status, time.Now())
}
