package config

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Tools is what the configuration says about the tools that a model is given.
type Tools struct {
	// MaxOutput is how many characters of a command's output are in an answer (tool_output.max_bytes in the file).
	MaxOutput int
	// Timeout ends a command that says nothing else (TERMINAL_TIMEOUT); it is at most MaxForeground.
	Timeout time.Duration
	// MaxForeground is the longest that a caller may wait for a command (TERMINAL_MAX_FOREGROUND_TIMEOUT, in seconds).
	MaxForeground time.Duration
	// Promote lets a command that asks for more than MaxForeground run as a background process; otherwise it is refused
	// (TERMINAL_FOREGROUND_OVERRUN, in the file foreground_overrun: promote or refuse).
	Promote bool
	// Degraded makes an engine that cannot be reached an answer that says so; otherwise it is an error
	// (TERMINAL_DEGRADED_MODE, in the file degraded_mode: warn or fail).
	Degraded bool
	// WriteRoots are the directories that files may be written in, with absolute paths (HERMES_WRITE_SAFE_ROOT, one or
	// more, with ":" between them); nil where any may be.
	WriteRoots []string
	// Protected are the files that hold credentials.
	Protected []ProtectedFiles
}

// The defaults of the tools.
const (
	DefaultMaxOutput     = 50_000
	DefaultMaxForeground = 600 * time.Second
)

// Tools reads what is configured about the tools. A max_bytes that is no number of characters means the default, as
// it always did; every other value of the wrong kind is an error.
func (c Config) Tools() (Tools, error) {
	t := Tools{MaxOutput: DefaultMaxOutput, MaxForeground: DefaultMaxForeground, Promote: true, Degraded: true}
	s, err := c.door("tool_output")
	if err != nil {
		return Tools{}, err
	}
	if n, err := strconv.Atoi(s.either("", "tool_output", "max_bytes").orEmpty()); err == nil && n >= 1 {
		t.MaxOutput = n
	}
	found, set, err := c.settings.whole("max_foreground_timeout", math.MaxInt64/int64(time.Second), "a whole number of seconds")
	if err == nil && set && found == 0 {
		err = c.settings.find("max_foreground_timeout").wrong("a number of seconds above 0")
	}
	if err != nil {
		return Tools{}, err
	}
	if set {
		t.MaxForeground = time.Duration(found) * time.Second
	}
	if t.Timeout = c.Timeout; t.Timeout == 0 || t.Timeout > t.MaxForeground {
		t.Timeout = t.MaxForeground
	}
	if err := c.settings.choice("foreground_overrun", &t.Promote, "promote", "refuse"); err != nil {
		return Tools{}, err
	}
	if t.WriteRoots, err = c.WriteRoots(); err != nil {
		return Tools{}, err
	}
	t.Protected = c.protected()
	return t, c.settings.choice("degraded_mode", &t.Degraded, "warn", "fail")
}

// choice sets whether a key has the first of two words.
func (s *settings) choice(key string, to *bool, yes, no string) error {
	found := s.find(key)
	switch {
	case found.value == nil:
	case strings.EqualFold(found.text(), yes):
		*to = true
	case strings.EqualFold(found.text(), no):
		*to = false
	default:
		return found.wrong(yes + " or " + no)
	}
	return nil
}
