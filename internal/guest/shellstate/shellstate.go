// Package shellstate owns what a caller's shell session is between two commands
// (working directory, exported variables, functions, aliases) and how that goes
// into a shell and comes back out of it.
//
// The guest calls it around every command of a session:
//
//	inv := shellstate.Invoke(shell, "/bin/bash", line, &session, opts)
//	// start inv.Argv with inv.Env in session.Cwd, inv.Prelude readable at
//	// opts.PreludeFD, an empty memfd at opts.ReportFD; wait for the shell
//	end, err := shellstate.Decode(report)
//	session.Apply(shellstate.Delta(inv.Start, end))
//
// The package starts no process, opens no file and keeps no state of its own; a
// State needs a lock of its owner's. It must never take anything out of a
// command's output, and never let a name of ours (__hermes_*) or a value of one
// command only into a session.
//
// A command's own shell runs as bash -c LINE would, with these exceptions:
//
//   - The session stays as it was if the shell is killed by SIGKILL, runs set -n,
//     or closes descriptor 187 (8 in a Posix shell), which children inherit.
//   - An EXIT trap that is set where the text of the line does not show it (in a
//     sourced file), in posix mode, or in a line that also names RETURN or DEBUG
//     replaces ours: the trap runs, the session stays as it was. The same holds
//     for an exec that only a sourced file shows; a user's DEBUG trap wins over
//     ours; a Posix shell has no report before exec.
//   - A line with the word exec runs with functrace on.
//   - A shell that exits inside a function tells apart the local variables of this
//     function, but not those of its callers, nor variables set for its call.
//     A Posix shell tells none of them apart.
//   - set -v shows one line of ours, a trace to BASH_XTRACEFD a few.
//   - A function named builtin, and one that mentions a name of ours, is not kept.
//   - Posix shells count lines from 2, and carry no functions.
package shellstate

import (
	"errors"
	"maps"
	"slices"
)

// Shell is what kind of shell runs a session's commands.
type Shell int

const (
	// Bash carries everything a State holds.
	Bash Shell = iota
	// Posix is dash, busybox ash and their kin: cwd, exports and aliases only.
	Posix
)

// MaxReport is the longest report Decode looks at.
const MaxReport = 32 << 20

var (
	// ErrNoReport says that the shell left no complete report: it was killed,
	// or it closed the descriptor. The session stays as it was.
	ErrNoReport = errors.New("the shell left no complete state report")
	// ErrMalformed says that a report is complete but cannot be read.
	ErrMalformed = errors.New("cannot read the shell's state report")
)

// State is a session between two commands. A session's State begins with the
// environment of its sandbox, takes up a login shell's with ApplyLogin, and then
// changes by Apply at the end of each command.
//
// In a State that Decode returns a nil map means that this shell cannot tell.
type State struct {
	// Env holds the exported variables that an environment can carry.
	Env map[string]string
	// Attrs holds declarations that it cannot, by variable name, as text to
	// replay: "declare -ix N", `declare -ax A=([0]="x")`, "declare -x UNSET".
	Attrs map[string]string
	// Functions holds definitions by name, as text to replay.
	Functions map[string]string
	// Aliases holds values by name, unquoted.
	Aliases map[string]string
	// Cwd is the physical working directory, or empty where it is not known.
	Cwd string

	// shadowed holds variables that were local to a function when the shell
	// left from inside it; what the session's own are is then not known.
	shadowed []string
	// given holds variables that one command was given. They are the giver's:
	// whatever the command makes of them ends with it.
	given []string
}

// Clone returns a State that shares nothing with s.
func (s State) Clone() State {
	s.Env = maps.Clone(s.Env)
	s.Attrs = maps.Clone(s.Attrs)
	s.Functions = maps.Clone(s.Functions)
	s.Aliases = maps.Clone(s.Aliases)
	s.shadowed = slices.Clone(s.shadowed)
	s.given = slices.Clone(s.given)
	return s
}
