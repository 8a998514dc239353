package cli

import (
	"os"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/profile"
)

// agent is whose files a command is about: a profile of a home.
type agent struct {
	root, name string
	// lookup is the environment with the profile's directory as its home.
	lookup config.Lookup
}

func (g agent) dir() string { return profile.Dir(g.root, g.name) }

// agent finds the profile that the command line names, else that of HERMES_HOME.
func (a *app) agent() (agent, error) {
	home, err := config.Home(a.lookup)
	if err != nil {
		return agent{}, err
	}
	g := agent{}
	if g.root, g.name = profile.Split(home); a.profile != "" {
		g.name = a.profile
	}
	if err := profile.Check(g.name); err != nil {
		return agent{}, err
	}
	g.lookup = func(name string) (string, bool) {
		if name == "HERMES_HOME" {
			return g.dir(), true
		}
		return a.lookup(name)
	}
	return g, nil
}

// settled is a profile's environment with its own variables. What has no meaning in their file is said.
func (a *app) settled(g agent) (config.Lookup, error) {
	lookup, ignored, err := config.WithEnvFile(g.lookup)
	for _, line := range ignored {
		a.say("%s", line)
	}
	return lookup, err
}

// needHome makes the home, which is the default profile's directory, where none was ever needed. A named profile is
// made by "hermes profile create" alone.
func (g agent) needHome() error {
	return cannot("make the home", os.MkdirAll(g.root, 0o700))
}
