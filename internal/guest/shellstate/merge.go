package shellstate

import (
	"maps"
	"slices"
	"strings"
)

// Edit is the difference of two maps.
type Edit struct {
	Set   map[string]string
	Unset []string
}

// Change is what one command did to its session.
type Change struct {
	Env, Attrs, Functions, Aliases Edit
	// Cwd is the new working directory, empty if it did not change.
	Cwd string
}

// Delta returns what a command changed between the state that it was given and
// the one that it left. Names that never enter a session are not in it.
func Delta(start, end State) Change {
	variable := func(n string) bool {
		return isKept(n) && !slices.Contains(end.shadowed, n) && !slices.Contains(start.given, n)
	}
	other := func(string) bool { return true }
	c := Change{
		Env:       diff(start.Env, end.Env, variable),
		Attrs:     diff(start.Attrs, end.Attrs, variable),
		Functions: diff(start.Functions, end.Functions, other),
		Aliases:   diff(start.Aliases, end.Aliases, other),
	}
	if end.Cwd != start.Cwd {
		c.Cwd = end.Cwd
	}
	if end.Functions != nil {
		c.Env.Unset = append(c.Env.Unset, importedFunctions(start.Env)...)
	}
	return c
}

// isKept tells whether a variable may enter a session. A name that is no
// identifier passes through a shell unseen, so its absence says nothing.
func isKept(name string) bool {
	return isIdentifier(name) && !isVolatile(name) && !isPerCommand(name)
}

// importedFunctions returns the names in env of functions that bash took from
// there: from now on they are functions of the session, or gone.
func importedFunctions(env map[string]string) []string {
	var names []string
	for _, n := range slices.Sorted(maps.Keys(env)) {
		if strings.HasPrefix(n, "BASH_FUNC_") && strings.HasSuffix(n, "%%") {
			names = append(names, n)
		}
	}
	return names
}

func diff(start, end map[string]string, keep func(string) bool) Edit {
	var e Edit
	if end == nil {
		return e
	}
	for n, v := range end {
		if old, ok := start[n]; (!ok || old != v) && keep(n) {
			if e.Set == nil {
				e.Set = map[string]string{}
			}
			// A copy, so that a session does not keep a whole report alive.
			e.Set[strings.Clone(n)] = strings.Clone(v)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(start)) {
		if _, ok := end[n]; !ok && keep(n) {
			e.Unset = append(e.Unset, n)
		}
	}
	return e
}

// Apply merges the change of a command that has ended. Of two commands that ran
// at the same time the later end wins, name by name.
func (s *State) Apply(c Change) {
	apply(&s.Env, c.Env)
	apply(&s.Attrs, c.Attrs)
	apply(&s.Functions, c.Functions)
	apply(&s.Aliases, c.Aliases)
	if c.Cwd != "" {
		s.Cwd = c.Cwd
	}
}

func apply(m *map[string]string, e Edit) {
	for _, n := range e.Unset {
		delete(*m, n)
	}
	if *m == nil && len(e.Set) > 0 {
		*m = make(map[string]string, len(e.Set))
	}
	maps.Copy(*m, e.Set)
}

// ApplyLogin takes up what a login shell left. Where it went to does not count,
// and the image's own PATH stays reachable.
func (s *State) ApplyLogin(start, end State) {
	c := Delta(start, end)
	c.Cwd = ""
	delete(c.Env.Set, "OLDPWD")
	if image, ok := start.Env["PATH"]; ok {
		c.Env.Unset = slices.DeleteFunc(c.Env.Unset, func(n string) bool { return n == "PATH" })
		if profile, ok := c.Env.Set["PATH"]; ok {
			c.Env.Set["PATH"] = MergeLoginPath(image, profile)
		}
	}
	s.Apply(c)
}

// MergeLoginPath returns the entries that a profile added to an image's PATH, in
// their order, then the image's PATH as it was. An empty entry, which would be
// the working directory, is not taken from a profile.
func MergeLoginPath(image, profile string) string {
	known := map[string]bool{"": true}
	for p := range strings.SplitSeq(image, ":") {
		known[p] = true
	}
	var merged []string
	for p := range strings.SplitSeq(profile, ":") {
		if !known[p] {
			known[p] = true
			merged = append(merged, p)
		}
	}
	if image != "" {
		merged = append(merged, image)
	}
	return strings.Join(merged, ":")
}
