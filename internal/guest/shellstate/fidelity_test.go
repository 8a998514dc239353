//go:build linux

package shellstate

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var lineNumber = regexp.MustCompile(`\b\d+: `)

// wantPlain runs a line in a plain shell and in the session, and expects the same
// output and status from both, and a report from ours.
func (s *session) wantPlain(line string) {
	s.t.Helper()
	plain := exec.Command(s.argv0[0], append(slices.Clone(s.argv0[1:]), "-c", line)...)
	plain.Env = slices.DeleteFunc(s.invoke("", Options{}).Env, func(e string) bool { return strings.HasPrefix(e, "BASH_ENV=") || e == "SHLVL=1" })
	plain.Dir = s.st.Cwd
	var out, errs bytes.Buffer
	plain.Stdout, plain.Stderr = &out, &errs
	_ = plain.Run()
	before := s.st.Clone()
	r := s.run(line)
	s.st = before
	wantOut, wantErr := out.String(), errs.String()
	if s.shell == Posix {
		// dash and ash trace the alias where bash traces the name, and count the
		// line that reads the prelude.
		r.err = strings.ReplaceAll(r.err, "__hermes_trap", "trap")
		for _, text := range []*string{&r.out, &r.err, &wantOut, &wantErr} {
			*text = lineNumber.ReplaceAllString(*text, "N: ")
		}
	}
	if status := plain.ProcessState.ExitCode(); r.out != wantOut || r.err != wantErr || r.status != status || r.report != nil {
		s.t.Errorf("%s\nout  %q\nwant %q\nerr  %q\nwant %q\nstatus %d, want %d, report %v", line, r.out, wantOut, r.err, wantErr, r.status, status, r.report)
	}
}

var posixLines = []string{
	"set -x; export A=1", "set -x; export A=1; exit 3", "set -x; f() { exit 3; }; f", "set -ex; trap 'echo bye' EXIT; false",
	"set -x; trap 'echo bye' EXIT; trap - EXIT; trap 'echo bye' EXIT; exit 3",
	"trap 'echo int' INT; kill -INT $$; echo after", "trap 'echo usr; exit 9' USR1; kill -USR1 $$; sleep 1",
	"exit 300", "false | true; echo $?", "echo a\necho b\nfoo(", "echo 'unclosed", "read x; echo got $x", "echo ${x?bad}", "set -u; echo $x; echo y", "printf '%s\\n' \"$@\"", "echo $#",
	"exec 3>&1; echo x >&3", "exec 2>&1; nosuch; :", "(trap 'echo sub' EXIT; exit 3); echo $?", "trap 'echo $?' EXIT; (exit 5)", "trap 'exit 3' EXIT; exit 2", "trap 'false' EXIT; exit 2",
	"set -e; trap 'false; echo no' EXIT; exit 2", "trap '' INT; trap", "x=$(trap 'echo in' EXIT; echo out); echo $x", "trap 'echo a' EXIT; trap 'echo b' EXIT", "trap 'echo \"$x\"' EXIT; x='a  b'",
	"trap 'echo multi\necho line' EXIT", "trap 'cat <<E\nheredoc\nE' EXIT", "trap 'echo a # comment' EXIT; exit 4", "umask", "getopts a x -a; echo $x", "for i in 1 2; do echo $i; done | while read x; do echo $x; done",
	"if true; then exec >/dev/null; fi; echo hidden", "sleep 0.01 & echo started; wait $!; echo $?", "echo \"$(exec echo sub)\"", "eval 'exit 8'", "unset PATH; ls", "cd /nonexistent", "$(exit 4)", "! true", "true &",
	"set -e; f() { false; echo in; }; f || echo or", "set -e; (false); echo no", "set -e; x=$(false); echo no", "test -t 0; echo $?", "cat", "alias", "trap",
}

var bashLines = []string{
	"set -x; export A=1; echo \"exec $(exec echo x)\"; exec env >/dev/null", "exit -1", "return 3", "echo $((1/0))",
	"coproc cat; echo hi >&${COPROC[1]}; read x <&${COPROC[0]}; echo $x", "cat <(echo a) <(echo b)", "set -m; sleep 0.01 & wait; echo $?",
	"f() { echo ${FUNCNAME[@]} ${BASH_LINENO[@]} $LINENO; caller; }; f", "echo ${BASH_SOURCE[@]} $BASH_SUBSHELL $- $0", "set -o", "shopt | grep -v expand_aliases",
	"kill -TERM $$", "kill -HUP $$", "kill -INT $$; echo x", "false | true; echo ${PIPESTATUS[@]}", "set -o pipefail; false | true", "select x in a b; do echo $x; break; done <<< 1",
	"exec nosuch", "exec /nonexistent; echo after", "shopt -s execfail; exec /nonexistent; echo after", "set -e; trap 'echo e $LINENO' ERR; false",
	"trap 'echo d' DEBUG; echo x; f() { echo y; }; f", "f() { trap 'echo r' RETURN; }; f; f", "trap 'echo bye' EXIT; exec true", "trap 'echo bye' EXIT; kill -TERM $$",
	"f() { exit 6; }; trap 'echo in ${FUNCNAME[0]} $?' EXIT; f", "type cd; type -t true", "declare -F; declare -f; compgen -A function", "jobs; wait; disown -a", "hash -r; hash",
	"[[ abc =~ (b) ]]; exec 4<&-; echo ${BASH_REMATCH[0]}", "echo one two; exec 5<&-; echo one two; echo $_", "echo $BASH_EXECUTION_STRING", "set -r; cd /", "enable -n echo; echo x", "POSIXLY_CORRECT=1; echo $-",
	"eval 'if'", ". /nonexistent", "source /dev/stdin <<< 'echo sourced; exit 2'", "exec {fd}>/dev/null; echo $fd", "exit 3 & wait $!", "set -eE; trap 'echo err' ERR; f() { false; }; f",
	"shopt -s lastpipe; echo x | read y; echo $y", "shopt -s inherit_errexit; set -e; echo $(false; echo x)", "echo é | wc -m", "read -t 0.01; echo $?", "trap 'echo a' INT ERR; trap -p; trap -p INT; x=$(trap -p); echo \"$x\"",
}

// A command must not be able to tell its session from a plain shell.
func TestOutputIsThatOfAPlainShell(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		for _, line := range posixLines {
			s.wantPlain(line)
		}
	})
	s := bash(t)
	for _, line := range bashLines {
		s.wantPlain(line)
	}
}
