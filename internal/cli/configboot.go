package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/config"
)

// bootSettings is what hermes-init, which reads no YAML itself, is told of the configuration.
type bootSettings struct {
	MultiplexProfiles bool     `json:"multiplex_profiles"`
	Migrated          []string `json:"migrated,omitempty"`
	// Warnings are one line each. Nothing in a configuration stops a boot.
	Warnings []string `json:"warnings,omitempty"`
}

// newConfigBoot is called by hermes-init as the service user, and by nobody else.
func newConfigBoot(a *app) *cobra.Command {
	return &cobra.Command{
		Use:                   "boot",
		Hidden:                true,
		DisableFlagsInUseLine: true,
		Short:                 "Bring the configuration up to date and print what a boot needs of it",
		Long: "Brings the home's configuration up to date, unless HERMES_SKIP_CONFIG_MIGRATION is set, and prints one JSON object.\n" +
			"What is wrong with the configuration is a warning in it, and no failure.",
		Example: "hermes config boot\nhermes -p coder config boot",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			s, err := a.bootSettings(config.Migrations, time.Now())
			if err != nil {
				return err
			}
			return cannot("write the answer", writeJSON(a.stdout, s))
		},
	}
}

func (a *app) bootSettings(due []config.Migration, now time.Time) (s bootSettings, err error) {
	g, err := a.agent()
	if err != nil {
		return s, err
	}
	warn := func(err error) {
		if err != nil {
			s.Warnings = append(s.Warnings, oneLine(err.Error()))
		}
	}
	if !config.Switch(a.lookup, "HERMES_SKIP_CONFIG_MIGRATION") {
		s.Migrated, err = config.Migrate(g.dir(), due, now)
		warn(err)
	}
	lookup, ignored, err := config.WithEnvFile(g.lookup)
	warn(err)
	for _, line := range ignored {
		warn(fmt.Errorf("%s", line))
	}
	if err != nil {
		lookup = g.lookup
	}
	s.MultiplexProfiles, err = config.MultiplexProfiles(lookup)
	warn(err)
	return s, nil
}
