package config

import (
	"errors"
	"fmt"
	"os"
	"time"

	"hermes.example/hermes/internal/atomicfile"
)

// Migration brings a configuration of an older kind up to date. It knows by itself whether there is something to
// do: what it has changed once it leaves alone the next time.
type Migration struct {
	Name  string
	Apply func(text string) (string, error)
}

// Migrations are those of this version: none yet, because the file is still as the Hermes agent writes it.
var Migrations []Migration

// Migrate changes the home's configuration file by what is due, and returns the names of that. Before the first
// change the file and the home's variables are copied beside themselves, with the time in their names. A
// migration that fails leaves the file as the one before it made it, and those after it undone.
func Migrate(home string, due []Migration, now time.Time) (done []string, err error) {
	file, err := resolved(File(home))
	if err != nil {
		return nil, err
	}
	text, mode, err := readText(file)
	if err != nil || text == "" {
		return nil, err
	}
	migrated := text
	for _, m := range due {
		next, failure := m.Apply(migrated)
		if failure != nil {
			err = fmt.Errorf("cannot migrate the configuration (%s): %w; it is left as it was before", m.Name, failure)
			break
		}
		if next != migrated {
			migrated, done = next, append(done, m.Name)
		}
	}
	if len(done) == 0 {
		return nil, err
	}
	for _, path := range []string{file, EnvFile(home)} {
		if failure := backUp(path, now); failure != nil {
			return nil, failure
		}
	}
	if failure := atomicfile.Write(file, []byte(migrated), mode); failure != nil {
		return nil, failure
	}
	return done, err
}

// backUp copies a file, if there is one, for its owner alone.
func backUp(path string, now time.Time) error {
	data, err := read(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot back up the configuration: %w", err)
	}
	return atomicfile.Write(path+".backup-"+now.UTC().Format("20060102T150405Z"), data, 0o600)
}
