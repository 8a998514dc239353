package containerargs

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// variable reads --env: NAME=VALUE, or NAME for the caller's own value.
func (p *parser) variable(text string) error {
	if !p.take(p.env, text) {
		return errors.New("it is neither NAME=VALUE nor NAME; flag and value are two entries")
	}
	return nil
}

// variables reads --env-file as Docker does: values as they stand, lines that begin
// with # left out.
func (p *parser) variables(name string) error {
	data, err := p.read(name)
	if err != nil {
		return err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors begin a file with that
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimLeftFunc(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), unicode.IsSpace)
		if line == "" || line[0] == '#' {
			continue
		}
		if !p.take(p.fileEnv, line) {
			return fmt.Errorf("line %d of %s is neither NAME=VALUE nor NAME", number, name)
		}
	}
	return nil
}

// take adds a variable, and says whether it was one. What the caller does not have
// cannot be handed on.
func (p *parser) take(env Env, text string) bool {
	name, value, given := strings.Cut(text, "=")
	if name == "" || strings.ContainsFunc(name, unicode.IsSpace) || !isText(name) {
		return false
	}
	if !given {
		if value, given = p.lookup(name); !given {
			return true
		}
	}
	env[name] = value
	return isText(value)
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
