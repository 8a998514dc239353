package account

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
)

// child is one test of another process.
type child struct {
	log    strings.Builder
	result string // PASS, FAIL or SKIP
}

var (
	began = regexp.MustCompile(`^=== (?:RUN|CONT|NAME|PAUSE)\s+(\S+)$`)
	ended = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+) \(`)
	place = regexp.MustCompile(`^\s*\w+\.go:\d+: `)
)

// passOn reads what "-test.v=test2json" prints, and shows each subtest of that
// process as a subtest of t as soon as it has ended.
func passOn(t *testing.T, out io.Reader) {
	t.Helper()
	tests := make(map[string]*child)
	current := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := strings.TrimPrefix(lines.Text(), "\x16") // marks lines that are the runner's own
		if m := began.FindStringSubmatch(line); m != nil {
			if current = m[1]; tests[current] == nil {
				tests[current] = new(child)
			}
			continue
		}
		if m := ended.FindStringSubmatch(line); m != nil && tests[m[2]] != nil {
			c := tests[m[2]]
			c.result, current = m[1], m[2]
			if _, name, nested := strings.Cut(m[2], "/"); nested {
				t.Run(name, c.show)
			}
			continue
		}
		if c := tests[current]; c != nil {
			fmt.Fprintln(&c.log, line)
		} else {
			t.Log(line)
		}
	}
	for name, c := range tests {
		_, sub, nested := strings.Cut(name, "/")
		switch {
		case nested && c.result == "":
			t.Run(sub, c.show)
		case !nested && c.result != "PASS" && (c.log.Len() > 0 || !t.Failed()):
			t.Errorf("%s: %s\n%s", name, c.result, c.log.String())
		}
	}
}

func (c *child) show(t *testing.T) {
	log := strings.TrimRight(c.log.String(), "\n")
	switch c.result {
	case "PASS":
		if log != "" {
			t.Log(log)
		}
	case "SKIP":
		t.Skip(strings.TrimSpace(place.ReplaceAllString(log, "")))
	case "FAIL":
		t.Error(log)
	default:
		t.Errorf("it did not end\n%s", log)
	}
}
