package docker

import (
	"testing"
	"time"
)

// What is not known when it ended is never taken for old.
func TestInstants(t *testing.T) {
	when := time.Date(2026, 5, 4, 3, 2, 1, 123456789, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-05-04T03:02:01.123456789Z":      when,
		"2026-05-04T08:02:01.123456789+05:00": when,
		"2026-05-04T03:02:01Z":                when.Truncate(time.Second),
		"0001-01-01T00:00:00Z":                {},
		"":                                    {},
		"yesterday":                           {},
		"1777863721":                          {},
	} {
		if got := instant(text); !got.Equal(want) {
			t.Errorf("%q is %s, not %s", text, got, want)
		}
	}
}
