package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hermes.example/hermes/internal/wording"
)

// printable is s as it may be shown on a terminal: itself, or quoted where it has
// what a terminal would not show, or would act upon.
func printable(s string) string {
	plain := s != "" && utf8.ValidString(s) && strings.TrimSpace(s) == s
	for _, r := range s {
		plain = plain && unicode.IsPrint(r)
	}
	if plain {
		return s
	}
	return strconv.Quote(s)
}

// oneLine makes a text fit for one line of a terminal.
func oneLine(s string) string { return wording.OneLine(s) }

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return printable(s)
}

// span is a length of time for people.
func span(d time.Duration) string { return wording.Span(d) }

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f kB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

func shortDigest(digest string) string {
	_, hex, found := strings.Cut(digest, ":")
	if !found {
		hex = digest
	}
	return hex[:min(12, len(hex))]
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
