package shellstate

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// bashFD is where a bash keeps its report: commands that open descriptors of
// their own choose smaller or rounder numbers.
const bashFD = 187

// The report is made without a fork and whatever the command did to its shell:
// builtin passes by functions, the backslash passes by aliases, no expansion
// depends on IFS or nounset, and as part of an || list it cannot trip errexit or
// an ERR trap. It stands in a group that closes standard error first, which
// silences xtrace and a complaint about a descriptor that the user closed.
const bashCore = `\builtin printf '\0HB1\0'
\builtin declare -px
\builtin alias -p
\builtin declare -F
\builtin declare -f
\builtin printf '\0'
\builtin pwd -P
if [[ ${FUNCNAME-} ]]; then \builtin printf '\0'; \builtin local -p; fi
\builtin printf '\0END\0'
`

// bashPlain is the EXIT trap of a plain line: functions and aliases cannot have
// changed, so they need neither be printed nor, but for those it names, be there.
const bashPlain = `{ \builtin printf '\0HV1\0'
\builtin declare -px
\builtin printf '\0'
\builtin pwd -P
\builtin printf '\0END\0'
} 2>&- >&187 || [[ 1 ]]
`

// bashReport reports from the middle of a trap that has closed standard error.
const bashReport = "{ " + bashCore + "} >&187 || [[ 1 ]]\n"

// bashQuiet begins the EXIT trap of a line that may trace or disable builtins.
// With set -v bash shows the first line of a trap before it can be kept from it.
const bashQuiet = `{ \builtin set +xv; \builtin enable builtin printf declare local alias pwd; } 2>&- >&187 || [[ 1 ]]
`

// bashExit is the EXIT trap. What a DEBUG trap of the user prints when ours
// begins goes before the report, where nobody reads it.
const bashExit = "{ \\builtin trap - DEBUG\n" + bashCore + "} 2>&- >&187 || [[ 1 ]]\n"

// bashGuard makes way for builtin itself: in posix mode, and only there, the
// special builtins unset and set are found before functions.
const bashGuard = `{ if [[ -o posix ]]; then \unset -f builtin; else POSIXLY_CORRECT=y; \unset -f builtin; \set +o posix; fi; } 2>&-
`

// bashBefore reports before the user's EXIT action, which may leave by exit, and
// lets the action see the status that the shell exits with.
const bashBefore = "{ __hermes_status=$?\n" + bashReport + `__hermes_return "$__hermes_status" && [[ 1 ]]; } 2>&-
`

// bashExec is the DEBUG trap that reports just before exec replaces the shell.
// BASH_COMMAND has the words of a command first and its redirections behind, so
// that what follows exec tells whether it has a program. The fourth case is for
// an exec with variables of its own, the third for one in a substitution.
const bashExec = `{ if [[ $BASHPID == "$$" ]]; then case $BASH_COMMAND in
exec\ [\<\>]*|exec\ \&\>*|exec\ [0-9][\<\>]*|exec\ [0-9][0-9][\<\>]*|exec\ [0-9][0-9][0-9][\<\>]*|exec\ {*}[\<\>]*) ;;
exec\ *|\\exec\ *|command\ exec\ *|builtin\ exec\ *) ` + bashReport + `;;
*\$\(*|*\` + "`" + `*) ;;
[A-Za-z_]*=*\ exec\ *) ` + bashReport + `;;
esac; fi; } 2>&- || [[ 1 ]]
`

// bashTrap returns a function that stands before the builtin trap where a
// command names it. It keeps our EXIT trap behind the user's and out of every
// listing. In a function bash hides an ERR trap that is set outside, so the
// user's is remembered here too, and reset by one that does nothing. The
// builtin's special cases RETURN and DEBUG cannot be had from a function.
func bashTrap(exit string) string {
	return `__hermes_return () { return "$1"; }
trap () {
{ local -; builtin set +xv; } 2>&-
local __hermes_a __hermes_s __hermes_r=0
if [[ $# -eq 0 || $1 == -p ]]; then
if [[ ${__hermes_sub-} ]]; then builtin trap "$@"; return; fi
if [[ $# -le 1 ]]; then builtin set -- -p EXIT signals ERR; fi
builtin shift
for __hermes_s; do
case $__hermes_s in
0|[Ee][Xx][Ii][Tt]) if [[ ${__hermes_exit+x} ]]; then builtin printf 'trap -- %s EXIT\n' "${__hermes_exit@Q}"; fi ;;
[Ee][Rr][Rr]) if [[ ${__hermes_err+x} ]]; then builtin printf 'trap -- %s ERR\n' "${__hermes_err@Q}"; fi ;;
signals) builtin trap -p 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 34 35 36 37 \
38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 2>&- ;;
*) builtin trap -p "$__hermes_s" || __hermes_r=1 ;;
esac
done
return "$__hermes_r"
fi
if [[ $1 == -- ]]; then builtin shift; elif [[ $1 == -?* ]]; then builtin trap "$@"; return; fi
if [[ $BASHPID != "$$" ]]; then __hermes_sub=1; builtin trap -- "$@"; return; fi
case $1 in
''|*[!0-9]*) if [[ $# -eq 1 ]]; then builtin set -- - "$@"; fi ;;
*) builtin set -- - "$@" ;;
esac
__hermes_a=$1
builtin shift
for __hermes_s; do
case $__hermes_s in
0|[Ee][Xx][Ii][Tt])
if [[ $__hermes_a == - ]]; then builtin unset -v __hermes_exit; builtin trap -- ` + quote(exit) + ` EXIT
else __hermes_exit=$__hermes_a; builtin trap -- ` + quote(bashBefore) + `"$__hermes_a"$'\n'` + quote(exit) + ` EXIT; fi ;;
[Ee][Rr][Rr])
if [[ $__hermes_a != - ]]; then __hermes_err=$__hermes_a; builtin trap -- "$__hermes_a" ERR
elif [[ ${__hermes_err+x} ]]; then builtin unset -v __hermes_err; builtin trap : ERR; fi ;;
*) builtin trap -- "$__hermes_a" "$__hermes_s" || __hermes_r=1 ;;
esac
done
return "$__hermes_r"
}
`
}

// bashPrelude returns what bash reads before the line, and the line to give it.
// Functions come before aliases, which bash expands while it reads a definition,
// and each in an eval of its own, so that one bash cannot read again is one lost.
func bashPrelude(start *State, late []string, line string, opts Options) ([]byte, string) {
	var s script
	r := reach(line, start)
	if v, ok := start.Env["BASH_ENV"]; ok {
		s.line("BASH_ENV=", quote(v))
	} else {
		s.line("unset -v BASH_ENV")
	}
	s.descriptors(opts, bashFD)
	s.line("SHLVL=1")
	s.export(start.Env, slices.DeleteFunc(slices.Clone(late), func(n string) bool { return n == "POSIXLY_CORRECT" }))
	for _, n := range slices.Sorted(maps.Keys(start.Attrs)) {
		s.line(start.Attrs[n])
	}
	s.bashFunctions(start.Functions, r)
	for _, n := range slices.Sorted(maps.Keys(start.Aliases)) {
		if r.plain && !r.words[n] {
			continue
		}
		s.line("builtin alias -- ", quote(n), "=", quote(start.Aliases[n]))
	}
	if v, ok := start.Env["BASH_ENV"]; ok {
		s.line("if [[ -f ", quote(v), " ]]; then builtin . ", quote(v), "; fi")
	}
	if len(line) >= maxString {
		line = s.longLine(line, `\builtin unset -v`)
	}
	s.bashTraps(r, start)
	if v, ok := start.Env["POSIXLY_CORRECT"]; ok {
		s.line(`\builtin export POSIXLY_CORRECT=`, quote(v))
	}
	return []byte(s.String()), line
}

// bashFunctions defines the functions that a line can call, and those that its
// children inherit. Extended patterns in one must be known as such when it is read.
func (s *script) bashFunctions(all map[string]string, r reached) {
	var bodies []string
	for _, n := range slices.Sorted(maps.Keys(all)) {
		if text := all[n]; text != "" && (!r.plain || r.words[n] || strings.Contains(text, "\ndeclare -f")) {
			bodies = append(bodies, text)
		}
	}
	if len(bodies) == 0 {
		return
	}
	extended := slices.ContainsFunc(bodies, hasExtendedPattern)
	s.line("{")
	if extended {
		s.line("shopt -s extglob")
	}
	for _, text := range bodies {
		s.line("builtin eval ", quote(text))
	}
	if extended {
		s.line("builtin shopt -u extglob")
	}
	s.line("} 2>&-")
}

func hasExtendedPattern(text string) bool {
	for _, p := range [...]string{"?(", "*(", "+(", "@(", "!("} {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// bashTraps installs the reports that a line needs. The DEBUG trap comes last, so
// that it sees nothing of the prelude.
func (s *script) bashTraps(r reached, start *State) {
	exit := bashExit
	if r.words["set"] || r.words["shopt"] || r.words["enable"] {
		exit = bashQuiet + exit
	}
	if r.words["builtin"] {
		exit = bashGuard + exit
	}
	if r.plain {
		exit = bashPlain
	}
	_, shadowed := start.Functions["trap"]
	if r.words["trap"] && !r.words["RETURN"] && !r.words["DEBUG"] && !shadowed {
		s.line(bashTrap(exit))
	}
	s.line("builtin trap -- ", quote(exit), " EXIT")
	s.line("builtin shopt -s expand_aliases")
	if r.words["exec"] {
		s.line(`\builtin set -T`)
		s.line(`\builtin trap -- `, quote(bashExec), " DEBUG")
	}
}

// loginReport is all that a login shell runs after its profiles.
func loginReport(sh Shell, fd int) string {
	if sh == Posix {
		return "{ " + posixCore + "} 2>&- >&" + strconv.Itoa(fd)
	}
	return "{ " + bashCore + "} 2>&- >&" + strconv.Itoa(fd)
}
