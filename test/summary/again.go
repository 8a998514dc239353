package main

import (
	"fmt"
	"regexp"
	"strings"
)

// mostAgain is how many failures are looked at twice; where more fail, something is wrong.
const mostAgain = 5

// again runs the tests that failed once more, each alone, by the command that ran them
// all. Real daemons, kernels and clocks are in play: a test that fails beside a thousand
// others and passes alone says something else than one that always fails. It is listed,
// and does not count as failed. What a second run cannot clear stands: a data race, what
// did not build or did not finish, and more than a few failures.
func (s *summary) again(command []string) {
	s.settle()
	if len(s.failures) == 0 || len(s.failures) > mostAgain {
		return
	}
	var left []failure
	for _, f := range s.failures {
		if !f.final && s.passes(f, command) {
			s.unsteady = append(s.unsteady, f)
			s.passed++
		} else {
			left = append(left, f)
		}
	}
	if len(left) == 0 {
		s.trouble = nil // the command's complaint was about these
	}
	s.failures = left
}

// passes says whether a test passes now. One that is skipped, or not there, does not.
func (s *summary) passes(f failure, command []string) bool {
	fmt.Fprintf(s.w, "\nonce more, alone: %s\n", f)
	second := newSummary(s.w)
	alone := append(command[:len(command):len(command)], "-run", exactly(f.test), f.pkg)
	if err := runCommand(alone, second.read); err != nil {
		return false
	}
	second.settle()
	t := second.pkg(f.pkg).byName[f.test]
	return len(second.failures) == 0 && t != nil && t.end == "pass"
}

// exactly is the pattern by which "go test -run" finds one test.
func exactly(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}
