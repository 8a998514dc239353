package patch

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Tolerance is how much a passage may differ from what it is taken for. Each one allows what those before it do.
type Tolerance int

// The tolerances, in the order in which they are tried.
const (
	Exact Tolerance = iota
	LineEndings
	TrailingSpace
	Typography
	Indentation
)

var tolerances = []Tolerance{Exact, LineEndings, TrailingSpace, Typography, Indentation}

var tolerated = map[Tolerance]string{
	LineEndings:   "line endings",
	TrailingSpace: "spaces at the ends of lines",
	Typography:    "typographic characters (quotes, dashes, spaces)",
	Indentation:   "indentation",
}

// String says what was different; empty if nothing was.
func (t Tolerance) String() string { return tolerated[t] }

// plain are typographic characters and what people type for them.
var plain = strings.NewReplacer(
	"\u2018", "'", "\u2019", "'", "\u201a", "'", "\u201b", "'", "\u2032", "'",
	"\u201c", `"`, "\u201d", `"`, "\u201e", `"`, "\u201f", `"`, "\u2033", `"`, "\u00ab", `"`, "\u00bb", `"`,
	"\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2015", "-", "\u2212", "-",
	"\u00a0", " ", "\u2002", " ", "\u2003", " ", "\u2009", " ", "\u202f", " ", "\u3000", " ",
)

// form is a line as it is compared.
func (t Tolerance) form(line string) string {
	if t >= LineEndings {
		line = strings.TrimPrefix(strings.TrimSuffix(line, "\r"), mark)
	}
	if t >= Typography && !ascii(line) {
		line = plain.Replace(line)
	}
	if t >= TrailingSpace {
		line = strings.TrimRight(line, " \t\r")
	}
	if t >= Indentation {
		line = strings.TrimLeft(line, " \t")
	}
	return line
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func (t Tolerance) forms(lines []string) []string {
	if t == Exact {
		return lines
	}
	made := make([]string, len(lines))
	for i, line := range lines {
		made[i] = t.form(line)
	}
	return made
}

// places finds where old is in lines, from an index on. At the widest tolerance a passage of blank lines is nowhere,
// and one whose indentation differs in two ways is another passage.
func (t Tolerance) places(lines, old []string, from int) []int {
	have, want := t.forms(lines), t.forms(old)
	if t == Indentation && !slices.ContainsFunc(want, func(l string) bool { return l != "" }) {
		return nil
	}
	found := occurrences(have, want, from)
	if t == Indentation {
		found = slices.DeleteFunc(found, func(i int) bool {
			_, ok := shiftOf(old, lines[i:i+len(old)])
			return !ok
		})
	}
	return found
}

// occurrences finds all places of want, also such that overlap, in a time that grows with the lines and not with
// their product (after Knuth, Morris and Pratt): files of lines that are all alike come from anybody.
func occurrences(have, want []string, from int) []int {
	again := make([]int, len(want)+1) // how much of want the first so many lines end with
	for i, k := 1, 0; i < len(want); i++ {
		for k > 0 && want[i] != want[k] {
			k = again[k]
		}
		if want[i] == want[k] {
			k++
		}
		again[i+1] = k
	}
	var found []int
	for i, k := from, 0; i < len(have); i++ {
		for k > 0 && (k == len(want) || have[i] != want[k]) {
			k = again[k]
		}
		if have[i] == want[k] {
			k++
		}
		if k == len(want) {
			found = append(found, i+1-k)
			k = again[k]
		}
	}
	return found
}

// shift is how the indentation of what was asked for becomes that of the file.
type shift map[string]string

func indent(line string) string {
	line = strings.TrimPrefix(line, mark)
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// shiftOf compares the indentation of two passages that are the same otherwise. It is not ok if the same indentation
// became two.
func shiftOf(asked, file []string) (shift, bool) {
	s := shift{}
	for i, line := range asked {
		if strings.TrimSpace(line) == "" {
			continue
		}
		from, to := indent(line), indent(file[i])
		if known, ok := s[from]; ok && known != to {
			return nil, false
		}
		s[from] = to
	}
	return s, true
}

// apply indents a new line as the file would.
func (s shift) apply(line string) string {
	own := indent(line)
	body := line[len(own):]
	if strings.TrimSpace(body) == "" {
		return line
	}
	if to, ok := s[own]; ok {
		return to + body
	}
	best, bestLen := "", -1
	for from := range s {
		if strings.HasPrefix(own, from) && len(from) > bestLen {
			best, bestLen = from, len(from)
		}
	}
	if bestLen >= 0 {
		return s[best] + own[bestLen:] + body
	}
	for from, to := range s {
		if deeper := len(from) - len(own); strings.HasPrefix(from, own) && (bestLen < 0 || len(from) < bestLen) {
			best, bestLen = to[:max(0, len(to)-deeper)], len(from)
		}
	}
	if bestLen >= 0 {
		return best + body
	}
	return line
}
