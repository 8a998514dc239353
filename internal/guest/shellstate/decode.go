package shellstate

import (
	"bytes"
	"strings"
)

// Decode returns the state in the last complete report of a report file. One
// that was cut off is not complete, and what stands around reports is ignored.
func Decode(report []byte) (State, error) {
	if len(report) > MaxReport {
		return State{}, ErrMalformed
	}
	for end := len(report); ; {
		end = bytes.LastIndex(report[:end], []byte("\x00END\x00"))
		if end < 0 {
			return State{}, ErrNoReport
		}
		switch kind, parts := sections(report[:end]); {
		case kind == 'B' && len(parts) == 3:
			return decodeBash(parts[0], parts[1], parts[2])
		case kind == 'B':
			return decodeBash(parts[0], parts[1], "")
		case kind == 'V' && len(parts) == 2:
			st, err := decodeBash(parts[0], parts[1], "")
			st.Functions, st.Aliases = nil, nil
			return st, err
		case kind == 'P' && len(parts) == 2:
			return decodePosix(parts[0], parts[1])
		}
		// What ended here began nowhere; its first NUL may end one before it.
		end++
	}
}

// sections returns the two or three sections at the end of report and the kind
// that their magic tells. No shell can put a NUL byte into a section.
func sections(report []byte) (kind byte, parts []string) {
	end, spans := len(report), [][]byte(nil)
	for len(spans) < 3 {
		at := bytes.LastIndexByte(report[:end], 0)
		if at < 4 {
			return 0, nil
		}
		spans = append(spans, report[at+1:end])
		if m := report[at-4 : at]; len(spans) >= 2 && m[0] == 0 && m[1] == 'H' && m[3] == '1' {
			for i := len(spans) - 1; i >= 0; i-- {
				parts = append(parts, string(spans[i]))
			}
			return m[2], parts
		}
		end = at
	}
	return 0, nil
}

// decodeBash reads variables, aliases and functions, which stand one behind the
// other, the directory, and the variables of the function that the shell left from.
func decodeBash(state, dir, locals string) (State, error) {
	st := State{Env: map[string]string{}, Attrs: map[string]string{}, Aliases: map[string]string{}, Cwd: cwd(dir)}
	vars, state, ok := declarations(state)
	if !ok {
		return State{}, ErrMalformed
	}
	for name, d := range vars {
		st.declare(name, d)
	}
	for strings.HasPrefix(state, "alias ") {
		entry := strings.TrimPrefix(strings.TrimPrefix(state, "alias "), "-- ")
		if state, ok = st.alias(entry); !ok {
			return State{}, ErrMalformed
		}
	}
	if st.Functions, ok = functions(state); !ok {
		return State{}, ErrMalformed
	}
	for locals != "" {
		vars, rest, ok := declarations(locals)
		locals, _ = strings.CutPrefix(rest, "local -\n")
		if !ok || locals != "" && locals == rest {
			return State{}, ErrMalformed
		}
		for name := range vars {
			st.shadowed = append(st.shadowed, name)
		}
	}
	return st, nil
}

// declare takes a variable into a state of bash.
func (s *State) declare(name string, d declaration) {
	switch {
	case isVolatile(name), name == "OLDPWD" && !d.hasValue:
		return
	case d.isCompound():
		s.Attrs[name] = d.text
		return
	case d.hasValue:
		s.Env[name] = d.value
	}
	if d.flags != "x" || !d.hasValue {
		s.Attrs[name] = "declare -" + d.flags + " " + name
	}
}

// decodePosix reads variables and aliases, one behind the other, and the directory.
func decodePosix(state, dir string) (State, error) {
	st := State{Env: map[string]string{}, Aliases: map[string]string{}, Cwd: cwd(dir)}
	for strings.HasPrefix(state, "export ") {
		name, value, rest, ok := assignment(state[len("export "):])
		if !ok {
			return State{}, ErrMalformed
		}
		if value != nil && !isVolatile(name) {
			st.Env[name] = *value
		}
		state = rest
	}
	for state != "" {
		rest, ok := st.alias(state)
		if !ok {
			return State{}, ErrMalformed
		}
		state = rest
	}
	return st, nil
}

// assignment reads a line with a name that may have a value.
func assignment(s string) (name string, value *string, rest string, ok bool) {
	name, rest = identifier(s)
	if after, hasValue := strings.CutPrefix(rest, "="); hasValue {
		v, after, ok := word(after)
		if !ok {
			return "", nil, "", false
		}
		value, rest = &v, after
	}
	rest, ok = strings.CutPrefix(rest, "\n")
	return name, value, rest, ok && name != ""
}

// alias takes one line of an alias listing into the state and returns what follows.
func (s *State) alias(line string) (rest string, ok bool) {
	name, rest, ok := strings.Cut(line, "=")
	if !ok || name == "" || strings.Contains(name, "\n") {
		return "", false
	}
	value, rest, ok := word(rest)
	if !ok {
		return "", false
	}
	if !strings.ContainsAny(name, " \t'\"$`\\;&|<>()/") && !strings.Contains(value, ours) {
		s.Aliases[name] = value
	}
	return strings.CutPrefix(rest, "\n")
}

// cwd returns a reported directory, or nothing if the shell could not tell.
func cwd(s string) string {
	dir, ok := strings.CutSuffix(s, "\n")
	if !ok || !strings.HasPrefix(dir, "/") {
		return ""
	}
	return dir
}
