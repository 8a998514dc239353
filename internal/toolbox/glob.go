package toolbox

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"
)

// glob is a pattern of names. Without a slash it is matched against the last part of a path, and otherwise against all
// of it. A star is any characters of one part, two of them are any parts, and {a,b} is one or the other.
type glob struct {
	re   *regexp.Regexp // nil matches everything
	base bool
}

func newGlob(pattern string, ignoreCase bool) (*glob, error) {
	pattern = strings.TrimPrefix(pattern, "./")
	switch {
	case pattern == "":
		return &glob{}, nil
	case len(pattern) > longestPattern/10:
		return nil, errors.New("it is too long")
	case strings.HasPrefix(pattern, "/"):
		return nil, errors.New("it begins with a slash; give the directory as path, and the glob relative to it")
	}
	g := &glob{base: !strings.Contains(pattern, "/")}
	expression, err := globExpression(pattern)
	if err != nil {
		return nil, err
	}
	if ignoreCase {
		expression = "(?i)" + expression
	}
	g.re, err = regexp.Compile("(?s)^" + expression + "$")
	if err != nil {
		return nil, errors.New("its brackets make no sense")
	}
	return g, nil
}

func (g *glob) match(rel string) bool {
	if g.re == nil {
		return true
	}
	if g.base {
		rel = rel[strings.LastIndexByte(rel, '/')+1:]
	}
	return g.re.MatchString(rel)
}

// globExpression makes a regular expression of a glob.
func globExpression(pattern string) (string, error) {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			switch rest := pattern[i:]; {
			case strings.HasPrefix(rest, "**/"):
				b.WriteString("(?:[^/]*/)*")
				i += 2
			case strings.HasPrefix(rest, "**"):
				b.WriteString(".*")
				i++
			default:
				b.WriteString("[^/]*")
			}
		case '?':
			b.WriteString("[^/]")
		case '[':
			end := strings.IndexByte(pattern[i+1:], ']')
			if end < 1 {
				return "", errors.New("a [ has no ]")
			}
			set := pattern[i+1 : i+1+end]
			if set[0] == '!' {
				set = "^" + set[1:]
			}
			b.WriteString("[" + strings.ReplaceAll(set, `\`, `\\`) + "]")
			i += end + 1
		case '{':
			depth++
			b.WriteString("(?:")
		case '}':
			if depth--; depth < 0 {
				return "", errors.New("a } has no {")
			}
			b.WriteByte(')')
		case ',':
			if depth > 0 {
				b.WriteByte('|')
			} else {
				b.WriteByte(',')
			}
		case '\\':
			if i++; i == len(pattern) {
				return "", errors.New("it ends with a backslash")
			}
			if c := pattern[i]; c < utf8.RuneSelf {
				b.WriteString(regexp.QuoteMeta(string(rune(c))))
			} else {
				b.WriteByte(c)
			}
		default:
			if c < utf8.RuneSelf {
				b.WriteString(regexp.QuoteMeta(string(rune(c))))
			} else {
				b.WriteByte(c) // a part of a character, none of which has a meaning
			}
		}
	}
	if depth > 0 {
		return "", errors.New("a { has no }")
	}
	return b.String(), nil
}
