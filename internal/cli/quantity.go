package cli

import (
	"math"
	"strconv"
	"time"

	"hermes.example/hermes/internal/config"
)

// noLimit is the word for the absence of a limit.
const noLimit = "none"

// parseMemory reads bytes, with a unit of 1024 or without; -1 means no limit.
func parseMemory(s string) (int64, error) {
	if s == noLimit {
		return -1, nil
	}
	if bytes, ok := config.ParseSize(s); ok && bytes >= 1 {
		return bytes, nil
	}
	return 0, usagef("cannot use --memory %q: give a size like 512m or 2g, or %q", s, noLimit)
}

// parseCPUs reads a number of processors; -1 means no limit.
func parseCPUs(s string) (float64, error) {
	if s == noLimit {
		return -1, nil
	}
	if value, ok := config.ParseNumber(s); ok && value >= 0.01 {
		return value, nil
	}
	return 0, usagef("cannot use --cpus %q: give a number like 1.5, at least 0.01, or %q", s, noLimit)
}

// parsePids reads a number of processes; -1 means no limit.
func parsePids(s string) (int64, error) {
	if s == noLimit {
		return -1, nil
	}
	if n, err := strconv.ParseInt(s, 10, 32); err == nil && n > 0 {
		return n, nil
	}
	return 0, usagef("cannot use --pids %q: give a number like 100, or %q", s, noLimit)
}

// parseTimeout reads the seconds of a flag, or a duration with its unit; zero means
// none.
func parseTimeout(flag, s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if seconds, parseErr := strconv.ParseFloat(s, 64); parseErr == nil && math.Abs(seconds) < math.MaxInt64/float64(time.Second) {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil {
		return 0, usagef("cannot use %s %q: give seconds, or a duration like 90s or 5m", flag, s)
	}
	if d < 0 {
		return 0, usagef("cannot use %s %q: it is negative; 0 means none", flag, s)
	}
	return d, nil
}

// parseMaxOutput reads a number of characters; zero means no limit.
func parseMaxOutput(s string) (int, error) {
	if s == noLimit {
		return 0, nil
	}
	if n, err := strconv.Atoi(s); err == nil && n > 0 && n <= 1<<30 {
		return n, nil
	}
	return 0, usagef("cannot use --max-output %q: give a number of characters, or %q", s, noLimit)
}
