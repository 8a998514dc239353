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

// file is the home's configuration file, with the sections of it that every command needs. The agent has many
// others in it.
type file struct {
	path             string
	data             []byte
	terminal, skills map[string]any
}

const fileName = "config.yaml"

// readFile reads a configuration file. That there is none is no error.
func readFile(path string) (file, error) {
	data, err := read(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return file{}, fmt.Errorf("cannot read the configuration: %w", err)
	}
	return newFile(path, data)
}

func newFile(path string, data []byte) (file, error) {
	f := file{path: path, data: bytes.TrimPrefix(data, []byte(byteOrderMark))}
	sections, err := f.sections("terminal", "skills")
	if err != nil {
		return file{}, err
	}
	var ok bool
	if f.terminal, ok = section(sections["terminal"]); !ok {
		return file{}, fmt.Errorf("cannot use terminal in %s: expected keys with values below it", path)
	}
	// A mistake in a section that nobody here needs stops nobody.
	f.skills, _ = section(sections["skills"])
	return f, nil
}

// sections returns some sections, and maybe others. What kind of values they are is for who needs them to say.
func (f file) sections(names ...string) (sections map[string]any, err error) {
	err = parse(cut(f.data, names...), &sections)
	if err != nil {
		// A section may refer to another one; and only of the whole file a
		// parser can say which line is wrong.
		sections = nil
		err = parse(f.data, &sections)
	}
	if err != nil {
		return nil, misunderstood(f.path, err)
	}
	return sections, nil
}

// byteOrderMark is what some editors begin a file with.
const byteOrderMark = "\ufeff"

// misunderstood says what a parser did not like, without the lines around it: they may hold secrets.
func misunderstood(path string, err error) error {
	return fmt.Errorf("cannot understand %s: %s", path, yaml.FormatError(err, false, false))
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
