package initd

import (
	"slices"
	"strings"
)

// lookup is a variable's value in an environment.
func lookup(environ []string, name string) string {
	for _, e := range environ {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}

// with is the environment with a variable set.
func with(environ []string, name, value string) []string {
	others := slices.DeleteFunc(slices.Clone(environ), func(e string) bool { return strings.HasPrefix(e, name+"=") })
	return append(others, name+"="+value)
}
