package toolbox

import (
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// wider makes an extended regular expression, as grep -E and ripgrep take it byte by byte, that matches every line that
// an expression of RE2 does, and perhaps others. Fold says that case must not matter.
func wider(expression string) (pattern string, fold bool) {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return "", false // was compiled before
	}
	w := widener{}
	w.write(re)
	return w.String(), w.fold
}

// something stands for what cannot be said the same way everywhere. A character may be several bytes.
const something = ".+"

type widener struct {
	strings.Builder
	fold bool
}

func (w *widener) write(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		w.fold = w.fold || re.Flags&syntax.FoldCase != 0
		for _, r := range re.Rune {
			w.character(r, re.Flags&syntax.FoldCase != 0)
		}
	case syntax.OpCharClass:
		w.class(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.WriteString(something)
	case syntax.OpCapture:
		w.group(re.Sub[0], "")
	case syntax.OpStar, syntax.OpQuest:
		w.WriteString(".*") // what may be missing says nothing
	case syntax.OpPlus:
		w.group(re.Sub[0], "+")
	case syntax.OpRepeat:
		if re.Min == 0 {
			w.WriteString(".*")
		} else {
			w.group(re.Sub[0], "+")
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			w.write(sub)
		}
	case syntax.OpAlternate:
		w.WriteByte('(')
		for i, sub := range re.Sub {
			if i > 0 {
				w.WriteByte('|')
			}
			w.branch(sub)
		}
		w.WriteByte(')')
	case syntax.OpNoMatch:
		w.WriteString(something)
	}
	// Beginnings, ends, word boundaries and nothing at all are left to us.
}

// group writes something in parentheses, followed by how often it is there.
func (w *widener) group(re *syntax.Regexp, times string) {
	w.WriteByte('(')
	w.branch(re)
	w.WriteByte(')')
	w.WriteString(times)
}

// branch writes something that may not be empty where it stands.
func (w *widener) branch(re *syntax.Regexp) {
	before := w.Len()
	if w.write(re); w.Len() == before {
		w.WriteString(".*")
	}
}

func (w *widener) character(r rune, fold bool) {
	switch {
	case r == '\n' || r == '\r' || r == 0 || strings.ContainsRune("]{}", r) || r == utf8.RuneError || fold && r >= utf8.RuneSelf:
		w.WriteString(something)
	case strings.ContainsRune(`.*+?()|^$\[`, r):
		w.WriteByte('\\')
		w.WriteRune(r)
	default:
		w.WriteRune(r)
	}
}

// class writes a set of letters and digits; every other one is something.
func (w *widener) class(ranges []rune) {
	var b strings.Builder
	for i := 0; i+1 < len(ranges); i += 2 {
		from, to := ranges[i], ranges[i+1]
		switch {
		case from == to && (alphanumeric(from) || from == '_'):
			b.WriteRune(from)
		case from >= 'a' && to <= 'z', from >= 'A' && to <= 'Z', from >= '0' && to <= '9':
			b.WriteRune(from)
			b.WriteByte('-')
			b.WriteRune(to)
		default:
			w.WriteString(something)
			return
		}
	}
	if b.Len() == 0 {
		w.WriteString(something)
		return
	}
	w.WriteString("[" + b.String() + "]")
}

func alphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}
