package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/rundir"
)

// agent is whose files a command is about: a profile of a home.
type agent struct {
	root, name string
	// environment is the caller's.
	environment config.Lookup
}

func (g agent) dir() string { return profile.Dir(g.root, g.name) }

// lookup is the environment with the profile's directory as its home.
func (g agent) lookup(name string) (string, bool) {
	if name == "HERMES_HOME" {
		return g.dir(), true
	}
	return g.environment(name)
}

// agent finds the profile that the command line names, else that of HERMES_HOME.
func (a *app) agent() (agent, error) {
	home, err := config.Home(a.lookup)
	if err != nil {
		return agent{}, err
	}
	root, name := profile.Split(home)
	if err := profile.Check(name); err != nil {
		return agent{}, err
	}
	if a.profile != "" {
		if err := profile.Check(a.profile); err != nil {
			return agent{}, &usageError{err.Error()}
		}
		name = a.profile
	}
	return a.agentOf(root, name), nil
}

// agentOf is a profile of a home.
func (a *app) agentOf(root, name string) agent {
	return agent{root: root, name: name, environment: a.lookup}
}

// settled is a profile's environment with its own variables. What has no meaning in their file is said.
func (a *app) settled(g agent) (config.Lookup, error) {
	lookup, ignored, err := config.WithEnvFile(g.lookup)
	for _, line := range ignored {
		a.say("%s", line)
	}
	return lookup, err
}

// terminal is the environment that the configuration of the profile's sandboxes is read in: that of its gateway. A name
// that no profile has is only a name, and the home's configuration counts.
func (g agent) terminal() (config.Lookup, error) {
	if _, err := os.Stat(g.dir()); errors.Is(err, fs.ErrNotExist) {
		g.name = profile.Default
	}
	lookup, _, err := config.WithEnvFile(g.lookup) // what has no meaning there is for the gateway to say
	return lookup, err
}

// needHome makes the home, which is the default profile's directory, where none was ever needed. A named profile is
// made by "hermes profile create" alone.
func (g agent) needHome() error {
	return cannot("make the home", os.MkdirAll(g.root, 0o700))
}

// mustExist says whether there is a profile that was named, before something is made in its place. The default one's
// directory is made when it is needed.
func (g agent) mustExist() error {
	if _, err := os.Stat(g.dir()); g.name != profile.Default && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot use the profile %q: there is no such profile; \"hermes profile ls\" lists those that there are", g.name)
	}
	return nil
}

// alone keeps others from changing the profile's configuration at the same time, until the returned function is called.
// Where there is no place for locks nobody is kept.
func (g agent) alone(ctx context.Context) (release func(), err error) {
	dir, err := rundir.Find()
	if err != nil {
		return func() {}, nil
	}
	sum := sha256.Sum256([]byte(g.dir()))
	lock, err := rundir.Acquire(ctx, filepath.Join(dir, fmt.Sprintf("config-%x.lock", sum[:6])))
	if err != nil {
		return nil, err
	}
	return func() { lock.Release(true) }, nil
}
