package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// EnvFile is where a home keeps its secrets, as variables.
func EnvFile(home string) string { return filepath.Join(home, ".env") }

// WithEnvFile is the environment with what the home's file of variables adds to it. What the environment has
// wins: it is what the container was started with. The lines say what of the file has no meaning.
func WithEnvFile(lookup Lookup) (Lookup, []string, error) {
	home, err := Home(lookup)
	if err != nil {
		return nil, nil, err
	}
	path := EnvFile(home)
	text, err := read(path)
	if errors.Is(err, os.ErrNotExist) {
		return lookup, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the variables of this home: %w", err)
	}
	vars, ignored := ParseVariables(string(text))
	for i, why := range ignored {
		ignored[i] = fmt.Sprintf("cannot use %s: %s; it is ignored", path, why)
	}
	return func(name string) (string, bool) {
		if value, found := lookup(name); found && strings.TrimSpace(value) != "" {
			return value, true
		}
		if secret, found := vars[name]; found {
			return secret.Reveal(), true
		}
		return lookup(name)
	}, ignored, nil
}

// ParseVariables reads lines of NAME=VALUE, with "export" before them or not. A value may stand in quotes: in
// single ones it is taken as it is, in double ones \n, \r, \t, \\, \" and \$ mean what they do in a shell, and in
// both it may go over lines. Without quotes it ends at a "#" after a space. Nothing is ever expanded. A name that
// is set twice has its last value. What has no meaning is named by its line, and never shown: it may be a secret.
func ParseVariables(text string) (vars map[string]Secret, ignored []string) {
	vars = make(map[string]Secret)
	rest := strings.ReplaceAll(strings.TrimPrefix(text, byteOrderMark), "\r\n", "\n")
	for number := 1; rest != ""; {
		assignment, length, why := parseAssignment(rest)
		switch {
		case why != "":
			ignored = append(ignored, fmt.Sprintf("line %d %s", number, why))
		case assignment.name != "":
			vars[assignment.name] = NewSecret(assignment.value)
		}
		number += strings.Count(rest[:length], "\n")
		rest = rest[length:]
	}
	return vars, ignored
}

type assignment struct{ name, value string }

// parseAssignment reads what text begins with: an assignment, or a line without one. It says how long that is, and
// what is wrong with it.
func parseAssignment(text string) (a assignment, length int, why string) {
	line, _, _ := strings.Cut(text, "\n")
	wholeLine := min(len(line)+1, len(text))
	trimmed := strings.TrimSpace(line)
	if trimmed == "" || trimmed[0] == '#' {
		return a, wholeLine, ""
	}
	name, _, assigns := strings.Cut(line, "=")
	valueAt := len(name) + 1
	if word, after, found := strings.Cut(strings.TrimSpace(name), " "); found && word == "export" {
		name = after
	}
	name = strings.TrimSpace(name)
	if !assigns || !IsName(name) {
		return a, wholeLine, "does not begin with the name of a variable and an equals sign"
	}
	raw := strings.TrimLeft(text[valueAt:], " \t")
	valueAt = len(text) - len(raw)
	if raw == "" || raw[0] != '"' && raw[0] != '\'' {
		return assignment{name, unquoted(line[min(valueAt, len(line)):])}, wholeLine, ""
	}
	value, quoted, closed := unquote(raw)
	if !closed {
		return a, wholeLine, "has a quote that does not end"
	}
	tail, _, _ := strings.Cut(raw[quoted:], "\n")
	length = min(valueAt+quoted+len(tail)+1, len(text))
	if tail = strings.TrimSpace(tail); tail != "" && tail[0] != '#' {
		return a, length, "has something after its closing quote"
	}
	if strings.ContainsRune(value, 0) || !utf8.ValidString(value) {
		return a, length, "has a value that is not a text"
	}
	return assignment{name, value}, length, ""
}

// unquoted is a value without quotes: up to a comment, without the spaces around it.
func unquoted(value string) string {
	for i := range len(value) {
		if value[i] == '#' && (i == 0 || value[i-1] == ' ' || value[i-1] == '\t') {
			value = value[:i]
			break
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(value, "\x00", ""), ""))
}

var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', '\\': '\\', '"': '"', '$': '$'}

// unquote reads the quoted value that text begins with, and says how long it is there.
func unquote(text string) (value string, length int, closed bool) {
	quote := text[0]
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote:
			return b.String(), i + 1, true
		case c == '\\' && quote == '"' && i+1 < len(text) && escapes[text[i+1]] != 0:
			i++
			b.WriteByte(escapes[text[i]])
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, false
}
