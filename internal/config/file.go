package config

import (
	"errors"
	"fmt"
	"os"

	"github.com/goccy/go-yaml"
)

// file is what the home's configuration file says in the sections that we read.
// The agent has many others in it.
type file struct {
	path             string
	terminal, skills map[string]any
}

// readFile reads a configuration file. That there is none is no error.
func readFile(path string) (file, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return file{path: path}, nil
	}
	if err != nil {
		return file{}, fmt.Errorf("cannot read the configuration: %w", err)
	}
	// Sections of the wrong kind are told apart below, so that a mistake in one
	// that nobody here needs stops nobody.
	var sections struct{ Terminal, Skills any }
	if err := yaml.UnmarshalWithOptions(data, &sections, yaml.AllowDuplicateMapKey()); err != nil {
		// Without the lines around it: they may hold secrets.
		return file{}, fmt.Errorf("cannot understand %s: %s", path, yaml.FormatError(err, false, false))
	}
	f := file{path: path}
	var ok bool
	if f.terminal, ok = section(sections.Terminal); !ok {
		return file{}, fmt.Errorf("cannot use terminal in %s: expected keys with values below it", path)
	}
	f.skills, _ = section(sections.Skills)
	return f, nil
}

func section(value any) (map[string]any, bool) {
	if value == nil {
		return nil, true
	}
	m, ok := value.(map[string]any)
	return m, ok
}
