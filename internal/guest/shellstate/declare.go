package shellstate

import (
	"strings"
	"unicode/utf8"
)

// declaration is one entry of what bash prints for declare -p.
type declaration struct {
	flags    string
	text     string
	value    string
	hasValue bool
}

// isCompound tells whether only a replay of the text restores the variable:
// an array, an associative array, a reference.
func (d declaration) isCompound() bool { return strings.ContainsAny(d.flags, "aAn") }

// declarations reads the output of declare -p up to the first line that is none
// of it. It is strict, because the text of an array is given to a shell again.
func declarations(s string) (all map[string]declaration, rest string, ok bool) {
	all = map[string]declaration{}
	for strings.HasPrefix(s, "declare -") && !strings.HasPrefix(s, "declare -f") {
		text := s
		flags, rest, ok := strings.Cut(s[len("declare -"):], " ")
		name, rest := identifier(rest)
		if !ok || name == "" || !isFlags(flags) {
			return nil, "", false
		}
		d := declaration{flags: flags}
		if rest, d.hasValue = strings.CutPrefix(rest, "="); d.hasValue {
			if strings.HasPrefix(rest, "(") {
				rest, ok = list(rest)
			} else {
				d.value, rest, ok = word(rest)
			}
			if !ok {
				return nil, "", false
			}
		}
		d.text = text[:len(text)-len(rest)]
		if s, ok = strings.CutPrefix(rest, "\n"); !ok {
			return nil, "", false
		}
		all[name] = d
	}
	return all, s, true
}

func isFlags(s string) bool {
	for i := range len(s) {
		if strings.IndexByte("aAcilnrtux-", s[i]) < 0 {
			return false
		}
	}
	return s != ""
}

// list passes the value of an array: ([key]="value" …). Nothing in it may be
// left for a shell to expand.
func list(s string) (rest string, ok bool) {
	for s = s[1:]; s != ""; {
		switch {
		case s[0] == ')':
			return s[1:], true
		case strings.IndexByte(" []=", s[0]) >= 0:
			s = s[1:]
		default:
			if _, s, ok = piece(s); !ok {
				return "", false
			}
		}
	}
	return "", false
}

// word reads a quoted word up to the end of its line and returns its value.
func word(s string) (value, rest string, ok bool) {
	if value, rest, ok = piece(s); !ok || strings.HasPrefix(rest, "\n") {
		return value, rest, ok
	}
	var b strings.Builder
	b.WriteString(value)
	for rest != "" && rest[0] != '\n' {
		if value, rest, ok = piece(rest); !ok {
			return "", "", false
		}
		b.WriteString(value)
	}
	return b.String(), rest, true
}

// piece reads one part of a word: a run in one kind of quotes, an escaped
// byte, or bytes that need no quotes.
func piece(s string) (value, rest string, ok bool) {
	switch {
	case s == "":
		return "", "", false
	case s[0] == '\'':
		return strings.Cut(s[1:], "'")
	case s[0] == '"':
		return doubleQuoted(s[1:])
	case strings.HasPrefix(s, "$'"):
		return ansiQuoted(s[2:])
	case s[0] == '\\' && len(s) > 1 && s[1] != '\n':
		return s[1:2], s[2:], true
	}
	n := 0
	for n < len(s) && isBare(s[n]) {
		n++
	}
	return s[:n], s[n:], n > 0
}

// isBare tells whether a byte needs no quotes in any shell.
func isBare(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c >= utf8.RuneSelf || strings.IndexByte("_%+,-./:@^", c) >= 0
}

// doubleQuoted reads up to the closing quote. An expansion is no plain value.
func doubleQuoted(s string) (value, rest string, ok bool) {
	var b strings.Builder
	begin := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			if b.Len() == 0 {
				return s[begin:i], s[i+1:], true
			}
			b.WriteString(s[begin:i])
			return b.String(), s[i+1:], true
		case '$', '`':
			return "", "", false
		case '\\':
			if i+1 < len(s) && strings.IndexByte("\"\\$`", s[i+1]) >= 0 {
				b.WriteString(s[begin:i])
				begin = i + 1
				i++
			}
		}
	}
	return "", "", false
}

// ansiQuoted reads the rest of $'…'.
func ansiQuoted(s string) (value, rest string, ok bool) {
	var b strings.Builder
	for {
		i := strings.IndexAny(s, `'\`)
		if i < 0 {
			return "", "", false
		}
		b.WriteString(s[:i])
		if s[i] == '\'' {
			return b.String(), s[i+1:], true
		}
		if s = s[i+1:]; s == "" {
			return "", "", false
		}
		s = ansiEscape(&b, s)
	}
}

// ansiEscape writes what follows a backslash and returns the text behind it.
func ansiEscape(b *strings.Builder, s string) string {
	c := s[0]
	if i := strings.IndexByte("abeEfnrtv", c); i >= 0 {
		b.WriteByte("\a\b\x1b\x1b\f\n\r\t\v"[i])
		return s[1:]
	}
	switch c {
	case '0', '1', '2', '3', '4', '5', '6', '7':
		n, rest := digits(s, 8, 3)
		b.WriteByte(byte(n))
		return rest
	case 'x':
		if n, rest := digits(s[1:], 16, 2); len(rest) < len(s)-1 {
			b.WriteByte(byte(n))
			return rest
		}
	case 'u', 'U':
		most := 4
		if c == 'U' {
			most = 8
		}
		if n, rest := digits(s[1:], 16, most); len(rest) < len(s)-1 {
			b.WriteRune(rune(n))
			return rest
		}
	case '\\', '\'', '"', '?':
		b.WriteByte(c)
		return s[1:]
	}
	b.WriteByte('\\')
	b.WriteByte(c)
	return s[1:]
}

// digits reads up to most digits of a number.
func digits(s string, base uint32, most int) (n uint32, rest string) {
	for ; most > 0 && s != ""; most-- {
		d := strings.IndexByte("0123456789abcdefABCDEF", s[0])
		if d > 15 {
			d -= 6
		}
		if d < 0 || uint32(d) >= base {
			break
		}
		n, s = n*base+uint32(d), s[1:]
	}
	return n, s
}
