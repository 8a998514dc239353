package shellstate

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxString is the longest single argument or variable that Linux takes
	// (MAX_ARG_STRLEN, with its NUL byte).
	maxString = 128 << 10
	// maxEnv keeps argument list and environment below the 2 MiB that a stack
	// of the usual size leaves them; what is above goes through the prelude.
	maxEnv = 1 << 20
)

// Options say how one command differs from the session it runs in.
type Options struct {
	// Login asks for the login shell that begins a session instead of a
	// command: it has neither line nor prelude, and its report is for ApplyLogin.
	Login bool
	// PreludeFD and ReportFD are the shell's descriptors on the prelude (a file
	// that can be opened again through /proc, such as a memfd) and on the
	// report. Posix shells can only name descriptors below 10.
	PreludeFD, ReportFD int
	// Inject holds variables of this command only. They win over the session's,
	// and neither they nor what the command makes of them enters it.
	Inject map[string]string
}

// Invocation is how to start a shell for a command.
type Invocation struct {
	Argv []string
	// Env is the whole environment, sorted.
	Env []string
	// Prelude is what PreludeFD must give to read; nil if it is not needed.
	Prelude []byte
	// Start is the state that the shell begins with, for Delta. If it was
	// started in another directory than the session's, put that into Start.Cwd.
	Start State
}

// Invoke returns how to run line in the session st with the shell at path.
func Invoke(sh Shell, path, line string, st *State, opts Options) Invocation {
	start := startState(st, opts.Inject)
	env, late := splitEnv(sh, start.Env, opts)
	inv := Invocation{Env: env, Start: start}
	switch {
	case opts.Login:
		for _, n := range late {
			delete(start.Env, n)
		}
		inv.Start = State{Env: start.Env, Attrs: map[string]string{}, Functions: map[string]string{}, Aliases: map[string]string{}, Cwd: start.Cwd, given: start.given}
		inv.Argv = []string{path, "-l", "-c", loginReport(sh, opts.ReportFD)}
	case sh == Posix:
		prelude, body := posixPrelude(&start, late, line, opts)
		inv.Argv = []string{path, "-c", ". " + procFD(opts.PreludeFD) + "\n" + body}
		inv.Prelude = prelude
	default:
		prelude, body := bashPrelude(&start, late, line, opts)
		inv.Argv = []string{path, "-c"}
		if strings.HasPrefix(body, "-") || strings.HasPrefix(body, "+") {
			inv.Argv = append(inv.Argv, "--")
		}
		inv.Argv = append(inv.Argv, body)
		inv.Prelude = prelude
	}
	return inv
}

// startState is the session as one command sees it.
func startState(st *State, inject map[string]string) State {
	start := st.Clone()
	if start.Env == nil {
		start.Env = map[string]string{}
	}
	maps.Copy(start.Env, inject)
	start.given = slices.Sorted(maps.Keys(inject))
	for _, n := range start.given {
		delete(start.Attrs, n)
	}
	for n, v := range agentDefaults {
		_, isSet := start.Env[n]
		_, isDeclared := start.Attrs[n]
		if !isSet && !isDeclared {
			start.Env[n] = v
		}
	}
	for n, v := range start.Env {
		if n == "" || strings.ContainsAny(n, "=\x00") || strings.ContainsRune(v, 0) || isVolatile(n) {
			delete(start.Env, n)
		}
	}
	return start
}

// splitEnv returns what a shell takes from its environment, and the names that
// its prelude has to export instead.
func splitEnv(sh Shell, vars map[string]string, opts Options) (env, late []string) {
	if sh == Bash {
		// A bash that takes itself for the first one reads ~/.bashrc instead of
		// BASH_ENV if its standard input is a socket or SSH_CLIENT is set.
		env = append(env, "SHLVL=1")
		if !opts.Login {
			env = append(env, "BASH_ENV="+procFD(opts.PreludeFD))
		}
	}
	total := 0
	for _, n := range slices.Sorted(maps.Keys(vars)) {
		size := len(n) + len(vars[n]) + 2
		switch {
		case n == "BASH_ENV" && sh == Bash && !opts.Login:
		case needsPrelude(sh, n), size > maxString, total+size > maxEnv:
			late = append(late, n)
		default:
			total += size
			env = append(env, n+"="+vars[n])
		}
	}
	slices.Sort(env)
	return env, late
}

func procFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// quote returns s as one word of any shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// script collects the lines of a prelude.
type script struct{ strings.Builder }

func (s *script) line(parts ...string) {
	for _, p := range parts {
		s.WriteString(p)
	}
	s.WriteByte('\n')
}

// descriptors moves the report to a descriptor that commands leave alone, and
// closes the two that the shell was started with.
func (s *script) descriptors(opts Options, kept int) {
	s.WriteString("exec")
	if opts.ReportFD != kept {
		report := strconv.Itoa(opts.ReportFD)
		s.WriteString(" " + strconv.Itoa(kept) + ">&" + report + " " + report + ">&-")
	}
	s.line(" ", strconv.Itoa(opts.PreludeFD), "<&-")
}

// export sets variables that could not travel in the environment.
func (s *script) export(env map[string]string, names []string) {
	for _, n := range names {
		if isIdentifier(n) {
			s.line("export ", n, "=", quote(env[n]))
		}
	}
}

// longLine hides a line that is too long for an argument in a variable, and
// returns what to run instead.
func (s *script) longLine(line, unset string) string {
	s.line(ours, "line=", quote(unset+" "+ours+"line;"+line))
	return `eval "$` + ours + `line"`
}
