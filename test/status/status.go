// Package status reads docs/status.md, the table of what is covered by which test. Its test compares the table
// with the list of all cases and with the tests in the tree; nothing else calls it.
package status

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Row is one line of a table: a case, its state, and the tests that the last column names.
type Row struct {
	Case  string
	State string
	By    string
	Tests []string
}

var (
	caseNumber = regexp.MustCompile(`^[SBAD][0-9]+$`)
	testName   = regexp.MustCompile(`\bTest[A-Z0-9][A-Za-z0-9_]*(?:/[^\s,;|` + "`" + `]+)?`)
	testFunc   = regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(Test[A-Z0-9]\w*)\(`)
)

// Rows takes the rows of cases out of the page; lines that only look like one are errors.
func Rows(page string) ([]Row, error) {
	var rows []Row
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 2 || !caseNumber.MatchString(strings.TrimSpace(cells[1])) {
			continue
		}
		if len(cells) != 6 {
			return nil, fmt.Errorf("want four columns: %s", strings.TrimSpace(line))
		}
		by := strings.TrimSpace(cells[4])
		rows = append(rows, Row{
			Case:  strings.TrimSpace(cells[1]),
			State: strings.TrimSpace(cells[3]),
			By:    by,
			Tests: testName.FindAllString(by, -1),
		})
	}
	return rows, nil
}

// Cases reads the list of numbers; a line that begins with # is a comment.
func Cases(list string) []string {
	var cases []string
	for line := range strings.Lines(list) {
		if c := strings.TrimSpace(line); c != "" && !strings.HasPrefix(c, "#") {
			cases = append(cases, c)
		}
	}
	return cases
}

// Problems compares the rows with the list of cases and with the sources of the tests.
func Problems(rows []Row, cases []string, sources string) []string {
	var found []string
	say := func(format string, a ...any) { found = append(found, fmt.Sprintf(format, a...)) }

	count := map[string]int{}
	for _, r := range rows {
		count[r.Case]++
		if !slices.Contains(cases, r.Case) {
			say("%s is not in the list of cases", r.Case)
		}
	}
	seen := map[string]bool{}
	for _, c := range cases {
		if seen[c] {
			say("%s stands twice in the list of cases", c)
		}
		seen[c] = true
		if count[c] != 1 {
			say("%s has %d rows, not one", c, count[c])
		}
	}

	funcs := map[string]bool{}
	for _, m := range testFunc.FindAllStringSubmatch(sources, -1) {
		funcs[m[1]] = true
	}
	for _, r := range rows {
		switch r.State {
		case "open", "void":
			if r.By == "" {
				say("%s is %s without a word in the last column", r.Case, r.State)
			}
		case "covered":
			if len(r.Tests) == 0 {
				say("%s is covered by no test", r.Case)
			}
		default:
			say("%s has the unknown state %q", r.Case, r.State)
		}
		for _, name := range r.Tests {
			if why := missing(name, funcs, sources); why != "" {
				say("%s names %s: %s", r.Case, name, why)
			}
		}
	}
	return found
}

// missing tells why a test cannot be found. The runner turns the spaces of a subtest's name into underscores.
func missing(name string, funcs map[string]bool, sources string) string {
	name, sub, nested := strings.Cut(name, "/")
	if !funcs[name] {
		return "no such test"
	}
	if nested && !strings.Contains(sources, `"`+sub+`"`) && !strings.Contains(sources, `"`+strings.ReplaceAll(sub, "_", " ")+`"`) {
		return "no such subtest"
	}
	return ""
}
