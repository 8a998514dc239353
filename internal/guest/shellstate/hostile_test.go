//go:build linux

package shellstate

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Whatever a command does to its shell, the next one must see what it exported,
// and its own output must be that of a plain shell.
func TestStateSurvivesWhatACommandDoes(t *testing.T) {
	for name, line := range map[string]string{
		"errexit":           "set -e; export A=1; true",
		"nounset":           "set -u; export A=1",
		"noglob":            "set -f; export A=1",
		"noclobber":         "set -C; export A=1",
		"allexport":         "set -a; A=1",
		"posix":             "set -o posix; export A=1",
		"IFS":               "IFS=0123456789; export A=1",
		"exported IFS":      "export IFS=/; export A=1",
		"umask":             "umask 777; export A=1",
		"C locale":          "export LC_ALL=C; export A=1",
		"empty PATH":        "PATH=; export A=1",
		"shadowed":          "printf() { echo no; }; declare() { echo no; }; alias() { echo no; }; pwd() { echo no; }; local() { echo no; }; set() { echo no; }; unset() { echo no; }; trap() { echo no; }; command() { echo no; }; export A=1",
		"shadowed builtin":  "builtin() { echo no; }; export A=1",
		"shadowed, posix":   "set -o posix; builtin() { echo no; }; export A=1",
		"aliased":           "shopt -s expand_aliases; alias builtin='echo no' printf='echo no' declare='echo no' unset=no set=no; export A=1",
		"disabled":          "enable -n printf declare pwd alias; export A=1",
		"no stdout":         "exec >&-; export A=1",
		"no stdin":          "exec <&-; export A=1",
		"no descriptors":    "exec 0<&- 1>&- 2>&- 3>&- 4>&-; export A=1",
		"ERR trap":          "trap 'echo err' ERR; set -E; export A=1",
		"DEBUG trap":        "trap 'printf %s \"\"' DEBUG; export A=1",
		"descriptors taken": "exec 3>/dev/null 4>/dev/null 5>/dev/null 9>/dev/null; export A=1",
		"readonly":          "readonly A=1; export A",
		"compat":            "BASH_COMPAT=4.2; export A=1",
		"extdebug":          "shopt -s extdebug; export A=1",
		"exit in function":  "export A=1; f() { local -x L=1; local INITIAL=shadow; local -; local -a z=(1); exit 0; }; f",
		"background":        "export A=1; sleep 5 & ",
		"signal":            "export A=1; trap '' TERM; kill $$",
		"restricted":        "export A=1; set -r",
		"xtrace elsewhere":  "exec 5>/dev/null; BASH_XTRACEFD=5; set -x; export A=1",
		"noisy debug":       "exec 5>&1 >/dev/null; trap 'echo DEBUG $BASH_COMMAND' DEBUG; export A=1",
		"DEBUG and EXIT":    "exec >/dev/null; trap 'echo DEBUG' DEBUG; trap 'echo x' INT; export A=1",
	} {
		t.Run(name, func(t *testing.T) {
			s := bash(t)
			s.want(line, "")
			s.st.Env["PATH"] = basePath
			s.st.Aliases = nil
			s.want(`builtin printf '%s\n' "$A $INITIAL ${L-none}"`, "1 image none\n")
			s.wantClean()
		})
	}
}

func TestPosixStateSurvivesWhatACommandDoes(t *testing.T) {
	for name, line := range map[string]string{
		"errexit":        "set -e; export A=1; true",
		"nounset":        "set -u; export A=1",
		"noclobber":      "set -C; export A=1",
		"IFS":            "IFS=0123456789; export A=1",
		"empty PATH":     "PATH=; export A=1",
		"shadowed":       "printf() { echo no; }; alias() { echo no; }; pwd() { echo no; }; export A=1",
		"aliased":        "alias printf='echo no' command='echo no' pwd=no set=no trap=no; export A=1",
		"no descriptors": "exec 0<&- 1>&- 2>&- 3>&- 4>&-; export A=1",
	} {
		t.Run(name, func(t *testing.T) {
			posixShells(t, func(t *testing.T, s *session) {
				s.want(line, "")
				s.st.Env["PATH"] = basePath
				s.st.Aliases = nil
				s.want(`echo "$A $INITIAL"`, "1 image\n")
				s.wantClean()
			})
		})
	}
}

func TestVerboseShowsOneLine(t *testing.T) {
	s := bash(t)
	if r := s.wantStatus("set -v; exit 3", 3); strings.Count(r.err, "\n") != 1 {
		t.Errorf("stderr: %s", r.err)
	}
}

func TestNothingOfOursIsVisible(t *testing.T) {
	s := bash(t)
	r := s.want("env; declare -F; alias; set; shopt -p extglob expand_aliases; ls /proc/self/fd", s.run("env; declare -F; alias; set; shopt -p extglob expand_aliases; ls /proc/self/fd").out)
	for _, bad := range []string{"hermes_", "BASH_ENV", "HB1", "shopt -s extglob"} {
		if strings.Contains(r.out, bad) {
			t.Errorf("%s is in\n%s", bad, r.out)
		}
	}
	if !strings.Contains(r.out, "shopt -s expand_aliases\n") || !strings.Contains(r.out, "SHLVL=1\n") {
		t.Errorf("out:\n%s", r.out)
	}
}

func TestDescriptorsOfTheInvocationAreClosed(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		s.want("(: <&3) 2>/dev/null && echo prelude; (: >&4) 2>/dev/null && echo report; true", "")
	})
}

func TestUsersBashEnvSurvivesAndIsRead(t *testing.T) {
	s := bash(t)
	file := filepath.Join(s.st.Env["HOME"], "it's")
	if err := os.WriteFile(file, []byte("fromenv=yes; shopt -s extglob\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.want(`export BASH_ENV="`+file+`"`, "")
	s.want(`echo "$BASH_ENV $fromenv"; bash -c 'echo $fromenv'`, file+" yes\nyes\n")
	s.want("unset BASH_ENV", "")
	s.want(`echo "${BASH_ENV-none} ${fromenv-none}"`, "none none\n")
	s.want("export BASH_ENV=/nonexistent/file", "")
	s.want("echo $BASH_ENV", "/nonexistent/file\n")
}

func TestPosixlyCorrectCarriesOver(t *testing.T) {
	s := bash(t)
	s.want("f-x() { echo f; }; export POSIXLY_CORRECT=1 A=1", "")
	s.want(`[[ -o posix ]] && echo "$POSIXLY_CORRECT $A"; f-x; export B=2`, "1 1\nf\n")
	s.want(`echo $B; unset POSIXLY_CORRECT`, "2\n")
	s.want(`[[ -o posix ]] || echo $A$B`, "12\n")
}

func TestClosedReportLeavesTheSession(t *testing.T) {
	s := bash(t)
	if r := s.run("set -e; export A=1; exec 187>&-; exit 5"); r.report != ErrNoReport || r.status != 5 || r.err != "" {
		t.Errorf("%+v", r)
	}
	posixShells(t, func(t *testing.T, s *session) {
		if r := s.run("set -e; export A=1; exec 8>&-; exit 5"); r.report != ErrNoReport || r.status != 5 || r.err != "" {
			t.Errorf("%+v", r)
		}
	})
}

func TestKilledShellLeavesTheSession(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		if r := s.run("export A=1; kill -9 $$"); r.report != ErrNoReport {
			t.Errorf("%+v", r)
		}
		if _, ok := s.st.Env["A"]; ok {
			t.Error("A entered the session")
		}
	})
}

func TestBackgroundChildrenDoNotHoldTheReport(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		begin := time.Now()
		s.want("export A=1; (sleep 20; export A=2) & (sleep 20) & export B=$!", "")
		if d := time.Since(begin); d > 10*time.Second {
			t.Errorf("took %s", d)
		}
		s.want("echo $A; kill $B", "1\n")
	})
}

func TestSubshellsDoNotReport(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		s.wantStatus("export A=1; (export A=2; cd /usr; exit 3) & wait $!; x=$(export A=4; cd /tmp; trap 'echo sub' EXIT; exit 5); echo \"$x\"; (exit 3)", 3)
		s.want("echo $A; pwd", "1\n/\n")
	})
}

// With a socket as standard input Debian's bash reads ~/.bashrc in place of
// BASH_ENV, unless it believes that it runs inside another shell.
func TestSocketAsStandardInput(t *testing.T) {
	s := bash(t)
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	stdin, peer := os.NewFile(uintptr(pair[0]), "socket"), os.NewFile(uintptr(pair[1]), "peer")
	defer stdin.Close()
	defer peer.Close()
	s.st.Env["SSH_CLIENT"] = "1"
	if err := os.WriteFile(filepath.Join(s.st.Env["HOME"], ".bashrc"), []byte("echo bashrc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	inv := s.invoke("echo $SHLVL", Options{})
	cmd, report := s.command(inv)
	cmd.Stdin = stdin
	out, err := cmd.Output()
	if _, bad := Decode([]byte(content(t, report))); string(out) != "1\n" || err != nil || bad != nil {
		t.Errorf("out %q, %v, %v", out, err, bad)
	}
}
