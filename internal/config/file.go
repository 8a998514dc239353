package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"

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
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors begin a file with that
	// Sections of the wrong kind are told apart below, so that a mistake in one
	// that nobody here needs stops nobody.
	var sections struct{ Terminal, Skills any }
	err = parse(cut(data, "terminal", "skills"), &sections)
	if err != nil {
		// A section may refer to another one; and only of the whole file a
		// parser can say which line is wrong.
		err = parse(data, &sections)
	}
	if err != nil {
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

func parse(data []byte, to any) error {
	return yaml.UnmarshalWithOptions(data, to, yaml.AllowDuplicateMapKey())
}

// Lines as people write them: what may come first, what begins a section, and what
// belongs to the one above it.
var (
	preface = regexp.MustCompile(`^(\s*$|#|---\s*$)`)
	heading = regexp.MustCompile(`^["']?([A-Za-z_][\w.-]*)["']?[ \t]*:(\s|$)`)
	content = regexp.MustCompile(`^(\s|#|-\s)`)
)

// cut leaves of a file the sections of these names. The agent's file has hundreds
// of lines, and every command would wait milliseconds for those that it does not
// need. A file that is written in any other way is left whole.
func cut(data []byte, names ...string) []byte {
	var kept []byte
	usual, inside := preface, false
	for line := range bytes.Lines(data) {
		if name := heading.FindSubmatch(line); name != nil {
			usual, inside = content, slices.Contains(names, string(name[1]))
		} else if !usual.Match(line) {
			return data
		}
		if inside {
			kept = append(kept, line...)
		}
	}
	return kept
}
