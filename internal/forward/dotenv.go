package forward

import (
	"iter"
	"strings"

	"hermes.example/hermes/internal/config"
)

// assignment is one line of a file of variables: NAME=VALUE, "export" before it or not.
type assignment struct {
	name  string
	value string
	line  int
	wrong string // what is wrong with the value
}

// assignments reads a file of variables, as people write it for shells and for others:
//
//	NAME=value with spaces   # and a comment
//	export NAME='as it stands'
//	NAME="with \"escapes\"\nand lines"
//
// A dollar means nothing: a value is what is written. What is no assignment is passed
// over; a quote that is never closed ends with its line.
func assignments(text string) iter.Seq[assignment] {
	return func(yield func(assignment) bool) {
		text = strings.TrimPrefix(text, "\ufeff") // some editors begin a file with that
		text = strings.ReplaceAll(text, "\r\n", "\n")
		for line := 1; text != ""; {
			a, rest := next(text)
			a.line = line
			line += strings.Count(text[:len(text)-len(rest)], "\n")
			text = rest
			if a.name != "" && !yield(a) {
				return
			}
		}
	}
}

// next reads the first line, and of a value in quotes as many as it has.
func next(text string) (a assignment, rest string) {
	line, rest, _ := strings.Cut(text, "\n")
	name, _, ok := strings.Cut(line, "=")
	words := strings.Fields(name)
	if len(words) == 2 && words[0] == "export" {
		words = words[1:]
	}
	if !ok || len(words) != 1 || !config.IsName(words[0]) {
		return assignment{}, rest
	}
	a.name, a.value = words[0], plain(line[len(name)+1:])
	if value := strings.TrimLeft(text[len(name)+1:], " \t"); value != "" && strings.ContainsRune(`'"`, rune(value[0])) {
		unquoted, after, closed := quoted(value)
		behind, more, _ := strings.Cut(after, "\n")
		behind = strings.TrimSpace(behind)
		switch {
		case !closed:
			a.wrong = "has a quote that is never closed"
		case behind != "" && behind[0] != '#':
			a.wrong = "goes on behind its closing quote"
		default:
			a.value, rest = unquoted, more
		}
	}
	if strings.ContainsRune(a.value, 0) {
		a.wrong = "has a NUL byte"
	}
	return a, rest
}

// plain is a value without quotes: up to a comment, which has a space before it.
func plain(s string) string {
	for i := range len(s) {
		if s[i] == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\t') {
			s = s[:i]
			break
		}
	}
	return strings.TrimSpace(s)
}

// quoted reads a value in quotes. Within single ones everything stands for itself.
func quoted(s string) (value, rest string, closed bool) {
	quote, s := s[0], s[1:]
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == quote:
			return b.String(), s[i+1:], true
		case s[i] == '\\' && quote == '"' && i+1 < len(s):
			i++
			escaped(&b, s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

// escaped writes what a backslash and c mean.
func escaped(b *strings.Builder, c byte) {
	switch c {
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case '"', '\\', '$', '`':
	default:
		b.WriteByte('\\')
	}
	b.WriteByte(c)
}
