package escape

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// sheet is the record: a row for every attempt, a column for everybody who made it.
type sheet struct {
	rows    []outcome // of the control, in order
	columns []column
}

type column struct {
	title    string
	isolated bool
	cells    map[string]outcome
}

// key names a row.
func (o outcome) key() string { return o.Group + ": " + o.Name }

// Verdicts of the program of attempts.
const (
	worked  = "worked"
	past    = "past"
	refused = "refused"
	absent  = "absent"
)

// network is the group that is tried with the host's network, too.
const (
	network     = "network"
	hostNetwork = "network, in a sandbox with the host's"
)

func newSheet(control []outcome) *sheet {
	s := &sheet{rows: control}
	for _, o := range control {
		if o.Group == network {
			o.Group = hostNetwork
			s.rows = append(s.rows, o)
		}
	}
	return s
}

func (s *sheet) add(title string, r result, user string) {
	c := column{title, r.Isolated, make(map[string]outcome)}
	for _, o := range r.Inside[user] {
		c.cells[o.key()] = o
	}
	for _, o := range r.Network[user] {
		if o.Group == network {
			o.Group = hostNetwork
			c.cells[o.key()] = o
		}
	}
	s.columns = append(s.columns, c)
}

// shown says whether the attempt worked. Only if it does outside, a refusal inside means
// something.
func shown(o outcome) bool { return o.Verdict == worked || o.Verdict == past }

// judge fails for every attempt that was not refused, unless the engine promises no
// isolation: then the record is what it is held to. A machine may lack what some
// attempts need to work outside; without most of them the suite shows nothing.
func (s *sheet) judge(t *testing.T) {
	t.Helper()
	known := 0
	for _, row := range s.rows {
		if shown(row) {
			known++
		}
		for _, c := range s.columns {
			o, tried := c.cells[row.key()]
			switch {
			case !tried && row.Group == hostNetwork: // the engine has only that
			case o.Verdict == refused, o.Verdict == absent:
			case shown(o) && !c.isolated:
			default:
				t.Errorf("%s, %s: %s %s", c.title, row.key(), o.Verdict, o.Answer)
			}
		}
	}
	if len(s.rows) < 100 || known < len(s.rows)*8/10 {
		t.Errorf("of %d attempts only %d work outside", len(s.rows), known)
	}
}

func controlCell(o outcome) string {
	switch {
	case o.Verdict == worked:
		return "works"
	case o.Verdict == past:
		return "works (" + o.Answer + " after the rights)"
	case o.Answer == "":
		return "not shown"
	}
	return "not shown (" + o.Answer + ")"
}

// Where an engine adds nothing, these are the answers of the machine's own files.
var (
	closedBy = []string{"EACCES", "ENOENT", "EROFS"}
	closedIn = []string{"files of the host", "paths through mounts", "kernel settings", "devices", "cgroups"}
)

func (c column) cell(control outcome) string {
	o := c.cells[control.key()]
	verdict := o.Verdict
	switch {
	case verdict == "":
		return "–" // the engine has no such sandbox
	case shown(o):
		return "possible"
	case verdict == refused && !shown(control) || verdict == absent:
		verdict = "not shown"
	case verdict == refused && !c.isolated && slices.Contains(closedBy, o.Answer) && slices.Contains(closedIn, o.Group):
		verdict = "closed"
	}
	if o.Answer == "" {
		return verdict
	}
	return verdict + " (" + o.Answer + ")"
}

const preamble = `# Escapes

What is tried to get out of a sandbox, and what becomes of it. ` + "`make escapes`" + ` writes this page; ` + "`make test`" + ` tries all of it again and
fails when anything is not refused, or when an attempt is missing here.

Every attempt is a direct system call. It is also made outside, as root on the same kernel: only where it works there is a refusal
inside worth anything. Where it does not, the attempt is *not shown* on the machine that wrote this page: its kernel, or the container
around it, refuses it to everybody. Attempts that would harm the machine have arguments that the kernel refuses after it has looked at the
rights; their answer outside is named. What the kernel answered inside is in parentheses; *killed* is the filter's way with calls
of another architecture.

| column | who makes the attempt |
|---|---|
| outside | root of the host |
| root's engine | root of a sandbox that root made, and user 1000 of another one |
| user's engine | the same where an ordinary user with subordinate ids made it: root of the sandbox is that user on the host |
| image | the same in sandboxes whose root is an image |
| local | a command of the local engine, which root of the host runs, and an ordinary user. It promises no isolation: the container around it does. *possible* is what works there, *closed* what only the machine's own files refuse |
| single id | root of the sandbox of a user without subordinate ids; there are no others |
`

// text is the record as a page.
func (s *sheet) text() string {
	var b strings.Builder
	b.WriteString(preamble)
	group := ""
	for _, row := range s.rows {
		if row.Group != group {
			group = row.Group
			fmt.Fprintf(&b, "\n## %s\n\n| attempt | outside |", strings.ToUpper(group[:1])+group[1:])
			for _, c := range s.columns {
				fmt.Fprintf(&b, " %s |", c.title)
			}
			b.WriteString("\n|" + strings.Repeat("---|", 2+len(s.columns)) + "\n")
		}
		fmt.Fprintf(&b, "| %s | %s |", row.Name, controlCell(row))
		for _, c := range s.columns {
			fmt.Fprintf(&b, " %s |", c.cell(row))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// compare holds the record that is kept against what was seen. Answers may differ
// between kernels, and so may what can be shown; rows and verdicts may not.
func compare(t *testing.T, seen string) {
	t.Helper()
	kept, err := os.ReadFile(record)
	if err != nil {
		t.Fatalf("%v; run \"make escapes\"", err)
	}
	was, is := verdicts(string(kept)), verdicts(seen)
	for row, now := range is {
		before, ok := was[row]
		switch {
		case !ok:
			t.Errorf("%s is not in the record; run \"make escapes\"", row)
		case len(before) != len(now):
			t.Errorf("%s: the record has %d columns, and there are %d; run \"make escapes\"", row, len(before), len(now))
		case strings.Join(before, "|") != strings.Join(now, "|"):
			if strings.Contains(strings.Join(append(before, now...), "|"), "not shown") {
				t.Logf("%s: the record says %q; here it is %q", row, before, now)
			} else {
				t.Errorf("%s: the record says %q, seen was %q; run \"make escapes\"", row, before, now)
			}
		}
	}
	for row := range was {
		if _, ok := is[row]; !ok && !strings.HasPrefix(row, evaluator) {
			t.Errorf("%s is in the record and was not tried; run \"make escapes\"", row)
		}
	}
}

// verdicts reads the tables of a page: the cells of every row without what is in
// parentheses, by heading and first cell.
func verdicts(page string) map[string][]string {
	rows := make(map[string][]string)
	heading := ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			heading = title
		}
		if heading == "" || !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| attempt ") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i, c := range cells {
			if i > 0 {
				c, _, _ = strings.Cut(c, "(")
			}
			if cells[i] = strings.TrimSpace(c); cells[i] == "closed" {
				cells[i] = "possible" // which of the two is the machine's matter
			}
		}
		rows[heading+": "+cells[0]] = cells[1:]
	}
	return rows
}
