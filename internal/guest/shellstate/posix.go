package shellstate

import (
	"maps"
	"slices"
	"strings"
)

// posixFD is where a shell that knows one-digit descriptors only keeps its report.
const posixFD = 8

const posixCore = `\command printf '\0HP1\0'
\export -p
\command alias
\command printf '\0'
\command pwd -P
\command printf '\0END\0'
`

// posixReport is the EXIT trap, and what runs before one of the user's.
const posixReport = "{ " + posixCore + "} 2>&- >&8 || \\:\n"

const posixBefore = "{ __hermes_status=$?\n" + posixReport + `__hermes_return "$__hermes_status" && \:; } 2>&-
`

// posixTrap is bashTrap for shells that find the builtin trap before a function
// of this name: an alias leads there. To list, it puts the user's own trap into
// place for a moment.
func posixTrap() string {
	return `__hermes_return () { return "$1"; }
__hermes_trap () {
{ case $- in *x*) __hermes_x=1; set +x ;; *) __hermes_x= ;; esac; } 2>&-
__hermes_chain "$@"
{ __hermes_r=$?; if [ -n "$__hermes_x" ]; then set -x; fi; return "$__hermes_r"; } 2>&-
}
__hermes_chain () {
if [ $# -eq 0 ]; then
if [ -z "${__hermes_sub-}" ]; then if [ -n "${__hermes_exit+x}" ]; then \trap -- "$__hermes_exit" EXIT; else \trap - EXIT; fi; fi
\trap
if [ -n "${__hermes_sub-}" ]; then return 0; fi
read -r __hermes_p __hermes_r </proc/self/stat
if [ "$__hermes_p" != $$ ]; then \trap - EXIT; else __hermes_set; fi
return 0
fi
if [ "$1" = -- ]; then shift; fi
read -r __hermes_p __hermes_r </proc/self/stat
if [ "$__hermes_p" != $$ ]; then __hermes_sub=1; \trap "$@"; return; fi
case $1 in
''|*[!0-9]*) if [ $# -eq 1 ]; then set -- - "$@"; fi ;;
*) set -- - "$@" ;;
esac
__hermes_a=$1 __hermes_r=0
shift
for __hermes_s; do
case $__hermes_s in
0|EXIT)
if [ "$__hermes_a" = - ]; then unset __hermes_exit; else __hermes_exit=$__hermes_a; fi
__hermes_set ;;
*) \trap -- "$__hermes_a" "$__hermes_s" || __hermes_r=1 ;;
esac
done
return "$__hermes_r"
}
__hermes_set () {
if [ -n "${__hermes_exit+x}" ]; then \trap -- ` + quote(posixBefore) + `"$__hermes_exit
"` + quote(posixReport) + ` EXIT; else \trap -- ` + quote(posixReport) + ` EXIT; fi
}
`
}

// posixPrelude returns what the shell reads before the line, and the line to give
// it. Our functions come before the user's aliases, which these shells expand
// while they read a definition.
func posixPrelude(start *State, late []string, line string, opts Options) ([]byte, string) {
	var s script
	s.descriptors(opts, posixFD)
	s.export(start.Env, late)
	_, shadowed := start.Aliases["trap"]
	chain := reach(line, start).words["trap"] && !shadowed
	if chain {
		s.WriteString(posixTrap())
	}
	if len(line) >= maxString-64 {
		line = s.longLine(line, `\unset`)
	}
	for _, n := range slices.Sorted(maps.Keys(start.Aliases)) {
		if !strings.HasPrefix(n, "-") {
			s.line(`\alias `, quote(n), "=", quote(start.Aliases[n]))
		}
	}
	if chain {
		s.line(`\alias trap=__hermes_trap`)
	}
	s.line(`\trap -- `, quote(posixReport), " EXIT")
	return []byte(s.String()), line
}
