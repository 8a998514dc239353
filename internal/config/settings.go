package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// settings finds the values of keys: what the terminal section of the file says,
// else the environment. An explicit key of the file wins, because that is what
// its author sees.
type settings struct {
	lookup Lookup
	file   file
}

// setting is one key's value, and what to call it when it is wrong.
type setting struct {
	value any // nil when it is not set
	name  string
	where string // " in FILE", or nothing for a variable
}

// find looks for a key of the terminal section, whose variable has the same name
// in capitals, but for one.
func (s *settings) find(key string) setting {
	if value := s.file.terminal[key]; value != nil && value != "" {
		return setting{value, "terminal." + key, " in " + s.file.path}
	}
	found := setting{name: "TERMINAL_" + strings.ToUpper(key)}
	if key == "backend" {
		found.name = "TERMINAL_ENV"
	}
	if value := get(s.lookup, found.name); value != "" {
		found.value = value
	}
	return found
}

func (s setting) text() string { return strings.TrimSpace(fmt.Sprint(s.value)) }

func (s setting) wrong(expected string) error {
	return fmt.Errorf("cannot use %s=%q%s: expected %s", s.name, s.text(), s.where, expected)
}

func (s *settings) seconds(key string, to *time.Duration) error {
	found := s.find(key)
	if found.value == nil {
		return nil
	}
	n, err := strconv.ParseInt(found.text(), 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/int64(time.Second) {
		return found.wrong("a whole number of seconds")
	}
	*to = time.Duration(n) * time.Second
	return nil
}

// boolean takes true, 1 and yes as true and everything else as false.
func (s *settings) boolean(key string, to *bool) {
	if found := s.find(key); found.value != nil {
		*to = isTrue(found.text())
	}
}

func isTrue(text string) bool {
	switch strings.ToLower(text) {
	case "true", "1", "yes":
		return true
	}
	return false
}
