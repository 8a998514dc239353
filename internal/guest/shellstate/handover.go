package shellstate

import "strings"

// Check says whether a state that somebody else kept can be used as if a shell here
// had reported it. What a shell is going to read again must be what a report could
// have held, and no name may be ours.
func (s State) Check() error {
	size := len(s.Cwd)
	for _, m := range []map[string]string{s.Env, s.Attrs, s.Functions, s.Aliases} {
		for name, value := range m {
			if size += len(name) + len(value); name == "" || hasNUL(name) || hasNUL(value) {
				return ErrMalformed
			}
		}
	}
	if size > MaxReport || s.Cwd != "" && !strings.HasPrefix(s.Cwd, "/") || hasNUL(s.Cwd) {
		return ErrMalformed
	}
	for name := range s.Env {
		if strings.Contains(name, "=") || strings.HasPrefix(name, ours) {
			return ErrMalformed
		}
	}
	for name, text := range s.Attrs {
		if !isAttr(name, text) {
			return ErrMalformed
		}
	}
	for name, text := range s.Functions {
		if !isFunction(name, text) {
			return ErrMalformed
		}
	}
	for name, value := range s.Aliases {
		kept := State{Aliases: map[string]string{}}
		rest, ok := kept.alias(name + "=" + quote(value) + "\n")
		if got, is := kept.Aliases[name]; !ok || rest != "" || !is || got != value {
			return ErrMalformed
		}
	}
	return nil
}

func hasNUL(s string) bool { return strings.IndexByte(s, 0) >= 0 }

// isAttr tells whether a text declares this variable and does nothing else.
func isAttr(name, text string) bool {
	vars, rest, ok := declarations(text + "\n")
	d, declared := vars[name]
	if !ok || rest != "" || !declared || len(vars) != 1 {
		return false
	}
	kept := State{Env: map[string]string{}, Attrs: map[string]string{}}
	kept.declare(name, d)
	return len(kept.Env) == 0 && kept.Attrs[name] == text
}

// isFunction tells whether a text begins with the definition of the function; an
// empty one stands in the text of another.
func isFunction(name, text string) bool {
	kept := map[string]string{}
	if keep(kept, name, text); len(kept) == 0 {
		return false
	}
	at := headers(text)[name]
	return text == "" || len(at) > 0 && at[0] == 0
}

// Rebase moves a state from the plain environment that it began with to another one:
// what no command and no login script has changed is as it is there.
func (s *State) Rebase(from, to State) {
	if s.Env == nil {
		s.Env = map[string]string{}
	}
	for name, old := range from.Env {
		value, isSet := s.Env[name]
		now, is := to.Env[name]
		switch {
		case isSet && value == old && is:
			s.Env[name] = now
		case isSet && value == old:
			delete(s.Env, name)
		case name == "PATH" && isSet && is && old != "":
			// Login scripts have put theirs before it.
			if added, found := strings.CutSuffix(value, ":"+old); found {
				s.Env[name] = added + ":" + now
			}
		}
	}
	for name, now := range to.Env {
		_, was := from.Env[name]
		_, isSet := s.Env[name]
		_, isDeclared := s.Attrs[name]
		if !was && !isSet && !isDeclared {
			s.Env[name] = now
		}
	}
	if s.Cwd == from.Cwd || s.Cwd == "" {
		s.Cwd = to.Cwd
	}
}
