package cli

import (
	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/survey"
)

// supervisor asks for the services of this machine.
func (a *app) supervisor() survey.Supervised { return a.supervised }

// profiles names those of the home, the default one first. It is there in any case.
func (g agent) profiles() ([]string, error) {
	names, _, err := (&profile.Home{Root: g.root}).List()
	return append([]string{profile.Default}, names...), err
}
