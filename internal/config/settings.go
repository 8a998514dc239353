package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hermes.example/hermes/internal/truth"
)

// settings finds the values of keys: what the terminal section of the file says,
// else the environment. An explicit key of the file wins, because that is what
// its author sees.
type settings struct {
	lookup Lookup
	file   file
	// odd says in one line each which switches of the file are neither on nor off.
	odd []string
}

// setting is one key's value, and what to call it when it is wrong.
type setting struct {
	value any // nil when it is not set
	name  string
	where string // " in FILE", or nothing for a variable
	// hidden values may be secrets, and are shown in no error.
	hidden bool
}

// find looks for a key of the terminal section, whose variable has the same name
// in capitals, but for one.
func (s *settings) find(key string) setting {
	if value := s.file.terminal[key]; value != nil && value != "" {
		return s.inFile(key)
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

// findHidden finds a key whose value is shown to nobody.
func (s *settings) findHidden(key string) setting {
	found := s.find(key)
	found.hidden = true
	return found
}

// inFile is a key of the terminal section that has no variable.
func (s *settings) inFile(key string) setting {
	return setting{value: s.file.terminal[key], name: "terminal." + key, where: " in " + s.file.path}
}

func (s setting) text() string { return strings.TrimSpace(fmt.Sprint(s.value)) }

func (s setting) wrong(expected string) error {
	value := ""
	if !s.hidden {
		value = fmt.Sprintf("=%q", s.text())
	}
	return fmt.Errorf("cannot use %s%s%s: expected %s", s.name, value, s.where, expected)
}

// text sets what is set.
func (s *settings) text(key string, to *string) {
	if found := s.find(key); found.value != nil {
		*to = found.text()
	}
}

func (s *settings) seconds(key string, to *time.Duration) error {
	n, set, err := s.whole(key, math.MaxInt64/int64(time.Second), "a whole number of seconds")
	if err == nil && set {
		*to = time.Duration(n) * time.Second
	}
	return err
}

// whole reads a number from zero to most.
func (s *settings) whole(key string, most int64, expected string) (n int64, set bool, err error) {
	found := s.find(key)
	if found.value == nil {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(found.text(), 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, false, found.wrong(expected)
	}
	return n, true, nil
}

// boolean takes true, 1 and yes as true and everything else as false.
func (s *settings) boolean(key string, to *bool) {
	if found := s.find(key); found.value != nil {
		*to = found.truthy()
		if found.odd() {
			s.odd = append(s.odd, found.wrong("true or false").Error())
		}
	}
}

// odd says whether a switch of the file is neither on nor off. It counts as off, but nobody means that.
func (s setting) odd() bool {
	return s.value != nil && s.where != "" && !s.truthy() && !slices.Contains(offWords, strings.ToLower(s.text()))
}

// offWords switch something off.
var offWords = []string{"false", "0", "no", "off", ""}

// Switch says whether a variable that is a switch is on.
func Switch(lookup Lookup, name string) bool { return truth.InAnyCase(get(lookup, name)) }
