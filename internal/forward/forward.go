// Package forward decides which variables of the host go into commands in containers:
// by which names, and with which values.
//
// Whoever runs commands for people asks it before each one, so that a token that was
// changed is new at the next command. What it returns belongs to that command: it is
// no part of the sandbox, nor of a session. It must never show a value, nor hand on
// one of Hermes' own unless somebody named it.
package forward

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hermes.example/hermes/internal/config"
)

// Values are variables for one command.
type Values map[string]config.Secret

// Under returns what somebody gave by hand, and below it the values.
func (v Values) Under(given map[string]string) map[string]string {
	env := make(map[string]string, len(v)+len(given))
	for name, value := range v {
		env[name] = value.Reveal()
	}
	maps.Copy(env, given)
	return env
}

// Read returns what is configured to be forwarded and has a value: in the process,
// else in the home's file of variables. An empty value is none. The warnings, of one
// line each, say what is not forwarded though it was asked for.
func Read(c config.Config, k config.Container, lookup config.Lookup) (Values, []string) {
	names, warnings := names(k)
	found := make(Values)
	var absent []string
	for _, name := range names {
		if value, _ := lookup(name); value != "" {
			found[name] = config.NewSecret(value)
		} else {
			absent = append(absent, name)
		}
	}
	if len(absent) == 0 {
		return found, warnings
	}
	stored, more := readStored(c.Home, absent)
	maps.Copy(found, stored)
	return found, append(warnings, more...)
}

// names are those that are forwarded by name, whatever they are, and those that are
// passed through, which must not be Hermes' own.
func names(k config.Container) (names, warnings []string) {
	names = slices.Clone(k.ForwardEnv)
	for _, name := range k.EnvPassthrough {
		switch {
		case slices.Contains(names, name):
		case Own(name):
			warnings = append(warnings, fmt.Sprintf("cannot pass %s through (terminal.env_passthrough): it is a setting of Hermes itself; if commands need it, name it in terminal.docker_forward_env", name))
		default:
			names = append(names, name)
		}
	}
	return names, warnings
}

// Own says whether a variable is a setting or a secret of Hermes itself: of its
// providers, tools and messengers. Case does not count: some systems know none.
func Own(name string) bool {
	name = strings.ToUpper(name)
	if slices.Contains(own, name) {
		return true
	}
	return slices.ContainsFunc(ownKinds, func(k kind) bool {
		return strings.HasPrefix(name, k.prefix) && (k.suffixes == nil || slices.ContainsFunc(k.suffixes, func(s string) bool { return strings.HasSuffix(name, s) }))
	})
}
