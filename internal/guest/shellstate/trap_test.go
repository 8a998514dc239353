//go:build linux

package shellstate

import (
	"strings"
	"testing"
)

func TestUsersExitTrapRunsBeforeTheReport(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		r := s.wantStatus("trap 'echo bye $?; export A=1; cd /usr' EXIT; exit 7", 7)
		if r.out != "bye 7\n" || r.err != "" {
			t.Errorf("out %q, err %q", r.out, r.err)
		}
		s.want("echo $A; pwd", "1\n/usr\n")
		r = s.wantStatus("trap 'echo bye; exit 4' 0; export B=2; exit 7", 4)
		if r.out != "bye\n" {
			t.Errorf("out %q", r.out)
		}
		s.want("echo $B", "2\n")
		r = s.wantStatus("set -e; trap 'echo bye $?' EXIT; export C=3; (exit 9)", 9)
		if r.out != "bye 9\n" {
			t.Errorf("out %q", r.out)
		}
		s.want("echo $C", "3\n")
		s.wantStatus("trap 'if then' EXIT; export D=4; exit 3", map[Shell]int{Bash: 3, Posix: 2}[s.shell])
		s.want("echo $D", "4\n")
		s.wantClean()
	})
}

func TestUsersExitTrapIsListedAndReset(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		s.want("trap; export A=1", "")
		s.want("trap 'echo a' EXIT; trap - EXIT; trap", "")
		s.want("trap 'echo a' EXIT; trap", "trap -- 'echo a' EXIT\na\n")
		s.want("trap 'echo a' 0; trap '' 0; trap 'echo b' USR1 EXIT; kill -USR1 $$; trap - USR1; trap", "b\ntrap -- 'echo b' EXIT\nb\n")
		s.want("trap 'echo a' EXIT INT; trap 0; export B=2", "")
		s.want("trap 'echo a' EXIT; ( trap 'echo sub' EXIT ); ( : ); x=$(echo in); echo $x", "sub\nin\na\n")
		s.want("f() { trap 'echo f' EXIT; }; f; echo line", "line\nf\n")
		s.want("echo $A$B", "12\n")
		s.wantClean()
	})
}

func TestTrapListings(t *testing.T) {
	s := bash(t)
	s.want("trap -p; trap -p EXIT; trap -p 0 ERR INT; x=$(trap; trap -p); echo \"[$x]\"", "[]\n")
	s.want("trap 'echo \"it'\\''s\"' EXIT; trap -p EXIT", "trap -- 'echo \"it'\\''s\"' EXIT\nit's\n")
	s.want("trap 'echo x' EXIT; trap 'echo i' INT; trap 'echo e' ERR; x=$(trap -p); trap - EXIT INT ERR; echo \"$x\"; trap; false; true",
		"trap -- 'echo x' EXIT\ntrap -- 'echo i' SIGINT\ntrap -- 'echo e' ERR\n")
	s.want("trap 'echo x' EXIT; (trap 'echo s' EXIT; trap -p; y=$(trap -p EXIT); echo \"$y\")", "trap -- 'echo s' EXIT\ntrap -- 'echo s' EXIT\ns\nx\n")
	s.want("eval \"$(trap -p EXIT)\"; trap 'echo x' EXIT; save=$(trap -p EXIT); trap - EXIT; eval \"$save\"", "x\n")
	s.want("trap 'echo one' ERR; false; trap 'echo two' ERR; false; trap - ERR; false; trap 'echo three' ERR; trap ERR; false; true", "one\ntwo\n")
	r := s.run("trap -l | head -1; trap 'x' NOSUCH; trap -z; trap -p NOSUCH")
	plain := "NOSUCH: invalid signal specification"
	if strings.Count(r.err, plain) != 2 || !strings.Contains(r.err, "invalid option") || !strings.Contains(r.out, "SIGHUP") {
		t.Errorf("out %q, err %q", r.out, r.err)
	}
	s.want("declare -F; export A=1", "")
	s.wantClean()
}

// RETURN and DEBUG traps are bound to the function that sets them, so that a
// line with one of them keeps the builtin.
func TestReturnAndDebugTrapsAreTheShellsOwn(t *testing.T) {
	s := bash(t)
	s.want("f() { trap 'echo ret; trap - RETURN' RETURN; echo in; }; f; echo out; export A=1", "in\nret\nout\n")
	s.want("trap 'n=$((n+1))' DEBUG; :; :; trap - DEBUG; :; echo $n", "3\n")
	s.want("echo $A", "1\n")
}

func TestATrapOfASubshellDoesNotReport(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		if r := s.run("(trap 'echo sub' EXIT; export A=2); x=$(trap 'echo sub' EXIT); kill -9 $$"); r.report != ErrNoReport || r.out != "sub\n" {
			t.Errorf("%+v", r)
		}
	})
}

func TestTheVariableDEBUGIsNoTrap(t *testing.T) {
	s := bash(t)
	s.want("trap 'echo bye' EXIT; DEBUG=1 true; [ -z \"$DEBUG${DEBUG}\" ]; export A=1", "bye\n")
	s.want("echo $A", "1\n")
}

func TestTrapInAFunctionOfTheSession(t *testing.T) {
	s := bash(t)
	s.want("tidy() { trap 'echo tidy; export T=1' EXIT; }; alias t=tidy", "")
	s.want("tidy; export A=1", "tidy\n")
	s.want("t; echo $A$T", "11\ntidy\n")
	s.want("trap() { echo mine; builtin trap \"$@\"; }", "")
	s.want("trap -p INT; export B=2", "mine\n")
	s.want("echo $B", "2\n")
	if _, ok := s.st.Functions["trap"]; !ok {
		t.Error("the user's function trap is gone")
	}
}

func TestExecReportsBeforeTheShellIsGone(t *testing.T) {
	s := bash(t)
	for line, status := range map[string]int{
		"export A=1; cd /usr; exec sh -c 'exit 6'":                                       6,
		"export A=1; cd /usr; A=1 exec sh -c 'exit 6'":                                   6,
		"export A=1; cd /usr; command exec sh -c 'exit 6'":                               6,
		"f() { export A=1; cd /usr; exec -a x sh -c 'exit 6' 3>&1; }; f":                 6,
		"export A=1; cd /usr; (exec true); exec >/dev/null; exec 7</dev/null; exec true": 0,
		"export A=1; cd /usr; exec nosuchprogram 2>&-":                                   127,
		"set -e; set -u; set -o posix; export A=1; cd /usr; exec true":                   0,
		"shopt -s extdebug; export A=1; cd /usr; exec true":                              0,
		"trap 'echo no' EXIT; export A=1; cd /usr; exec true":                            0,
	} {
		s.st.Env["A"], s.st.Cwd = "0", "/"
		r := s.wantStatus(line, status)
		if r.out != "" || r.err != "" {
			t.Errorf("%s\nout %q, err %q", line, r.out, r.err)
		}
		s.want("echo $A; pwd", "1\n/usr\n")
		s.wantClean()
	}
}

func TestExecInASubshellDoesNotReport(t *testing.T) {
	s := bash(t)
	if r := s.run("export A=1; (export A=2; exec true); x=$(cd /tmp; exec echo hi); kill -9 $$"); r.report != ErrNoReport {
		t.Errorf("there is a report: %+v", r)
	}
}

func TestExecInASessionFunction(t *testing.T) {
	s := bash(t)
	s.want("run() { exec \"$@\"; }", "")
	s.want("export A=1; run echo hi", "hi\n")
	s.want("echo $A", "1\n")
}

func TestExecOfARedirectionMakesNoReport(t *testing.T) {
	s := bash(t)
	for _, line := range []string{"exec 7>/dev/null", "exec >&2", "exec {x}>/dev/null", "exec &>/dev/null", "exec 12<&-", "exec"} {
		if r := s.run(line + "; kill -9 $$"); r.report != ErrNoReport {
			t.Errorf("%s: there is a report", line)
		}
	}
	if r := s.run("x=1; exec sh -c 'kill -9 $$'"); r.report != nil {
		t.Errorf("no report before exec")
	}
}
