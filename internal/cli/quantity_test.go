package cli

import (
	"strings"
	"testing"
	"time"
)

func TestQuantities(t *testing.T) {
	memory := func(s string) (any, error) { return wrap(parseMemory(s)) }
	cpus := func(s string) (any, error) { return wrap(parseCPUs(s)) }
	pids := func(s string) (any, error) { return wrap(parsePids(s)) }
	timeout := func(s string) (any, error) { return wrap(parseTimeout("--timeout", s)) }
	output := func(s string) (any, error) { return wrap(parseMaxOutput(s)) }
	for _, c := range []struct {
		name  string
		parse func(string) (any, error)
		good  map[string]any
		bad   []string
	}{
		{"memory", memory, map[string]any{"512m": int64(512 << 20), "2g": int64(2 << 30), "1048576": int64(1 << 20), "1.5G": int64(3 << 29),
			"64KiB": int64(64 << 10), "10mb": int64(10 << 20), "1t": int64(1 << 40), "none": int64(-1)},
			[]string{"", "0", "-1", "x", "m", "1x", "1e3", "0x10", "inf", "nan", "99999999999t", "1 g", "None"}},
		{"cpus", cpus, map[string]any{"1": 1.0, "1.5": 1.5, "0.01": 0.01, "none": -1.0}, []string{"", "0", "-1", "0.001", "x", "1e1", "inf"}},
		{"pids", pids, map[string]any{"1": int64(1), "100": int64(100), "none": int64(-1)}, []string{"", "0", "-1", "1.5", "99999999999"}},
		{"timeout", timeout, map[string]any{"0": time.Duration(0), "5": 5 * time.Second, "0.5": time.Second / 2, "90s": 90 * time.Second, "5m": 5 * time.Minute, "1h30m": 90 * time.Minute},
			[]string{"", "-1", "-5s", "soon", "5 s", "1e300", "NaN", "Inf", "none"}},
		{"max-output", output, map[string]any{"1": 1, "50000": 50000, "none": 0}, []string{"", "0", "-1", "1k", "99999999999"}},
	} {
		for s, want := range c.good {
			if got, err := c.parse(s); err != nil || got != want {
				t.Errorf("%s %q: got %v, %v; want %v", c.name, s, got, err, want)
			}
		}
		for _, s := range c.bad {
			got, err := c.parse(s)
			if err == nil {
				t.Errorf("%s %q was taken as %v", c.name, s, got)
			} else if !strings.HasPrefix(err.Error(), "cannot use --"+c.name) || !isA[*usageError](err) {
				t.Errorf("%s %q: %v", c.name, s, err)
			}
		}
	}
}

func wrap[T any](v T, err error) (any, error) { return v, err }
