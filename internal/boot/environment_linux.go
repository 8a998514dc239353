package boot

import (
	"slices"
	"strings"
)

// environment is a list of variables in which the first of a name counts, as everywhere.
type environment []string

func newEnvironment(from []string) environment { return slices.Clone(from) }

func (e environment) index(name string) int {
	return slices.IndexFunc(e, func(entry string) bool {
		return len(entry) > len(name) && entry[len(name)] == '=' && entry[:len(name)] == name
	})
}

func (e environment) lookup(name string) (string, bool) {
	if i := e.index(name); i >= 0 {
		return e[i][len(name)+1:], true
	}
	return "", false
}

func (e environment) get(name string) string {
	value, _ := e.lookup(name)
	return value
}

func (e *environment) set(name, value string) {
	if i := e.index(name); i >= 0 {
		(*e)[i] = name + "=" + value
		return
	}
	*e = append(*e, name+"="+value)
}

func (e *environment) unset(name string) {
	for i := e.index(name); i >= 0; i = e.index(name) {
		*e = slices.Delete(*e, i, i+1)
	}
}

func (e environment) list() []string { return slices.Clone(e) }

// env is a variable of the container.
func (m Machine) env(name string) string { return environment(m.Environ).get(name) }

// off are the spellings that turn off what a file has turned on.
func off(value string) bool {
	switch strings.ToLower(value) {
	case "0", "false", "no":
		return true
	}
	return false
}
