// Package wording puts things into the words that people read: a text in one line, a length of time.
//
// Whatever tells people something calls it, on a terminal or on a page. It knows nothing of where the words go.
package wording

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// OneLine makes a text fit for one line, on a terminal too.
func OneLine(s string) string {
	s = strings.ReplaceAll(strings.TrimSpace(s), "\n", "; ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// Span is a length of time for people.
func Span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
