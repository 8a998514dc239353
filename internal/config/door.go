package config

import (
	"fmt"
	"strconv"
	"strings"

	"hermes.example/hermes/internal/truth"
)

// doorSettings finds values of the doors: the environment's, else the file's.
type doorSettings struct {
	lookup   Lookup
	path     string
	sections map[string]any
}

// door reads the sections of a door. They are read apart from the others: most commands do not need them. With
// an error there is what the environment says.
func (c Config) door(sections ...string) (doorSettings, error) {
	found, err := c.settings.file.sections(sections...)
	return doorSettings{c.settings.lookup, c.settings.file.path, found}, err
}

// either is a variable, or what stands under these names in the file.
func (s doorSettings) either(variable string, names ...string) setting {
	if variable != "" {
		if value := get(s.lookup, variable); value != "" {
			return setting{value: value, name: variable}
		}
	}
	var value any
	if len(names) > 0 {
		value = s.sections
	}
	for _, name := range names {
		m, _ := value.(map[string]any)
		value = m[name]
	}
	if text, ok := value.(string); ok && strings.TrimSpace(text) == "" {
		value = nil
	}
	return setting{value: value, name: strings.Join(names, "."), where: " in " + s.path}
}

func (s setting) setText(to *string) {
	if s.value != nil {
		*to = s.text()
	}
}

func (s setting) orEmpty() (text string) {
	s.setText(&text)
	return text
}

func (s setting) setPort(to *int) error {
	if s.value == nil {
		return nil
	}
	port, err := strconv.ParseUint(s.text(), 10, 16)
	if err != nil {
		return s.wrong("a port, from 1 to 65535, or 0 for any that is free")
	}
	*to = int(port)
	return nil
}

func (s setting) setPositive(to *int) error {
	if s.value == nil {
		return nil
	}
	n, err := strconv.ParseUint(s.text(), 10, 31)
	if err != nil || n == 0 {
		return s.wrong("a whole number above zero")
	}
	*to = int(n)
	return nil
}

// words are those of a list: in a variable with commas between them, in the file also a list.
func (s setting) words() []string {
	var words []string
	parts, isList := s.value.([]any)
	if !isList && s.value != nil {
		for part := range strings.SplitSeq(s.text(), ",") {
			parts = append(parts, part)
		}
	}
	for _, part := range parts {
		if word := strings.TrimSpace(fmt.Sprint(part)); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// truthy is what a switch says; in a file "on" is true too, as it is for the agent, which reads an older YAML.
func (s setting) truthy() bool {
	return truth.InAnyCase(s.text()) || s.where != "" && strings.EqualFold(s.text(), "on")
}
