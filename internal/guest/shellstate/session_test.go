//go:build linux

package shellstate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExportsCarryOver(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		s.want("export A=1; B=2", "")
		s.want(`echo "$A ${B-none}"`, "1 none\n")
		s.wantClean()
	})
}

func TestFunctionsAndAliasesCarryOver(t *testing.T) {
	s := bash(t)
	s.want("f(){ echo hi;}; _p(){ echo p;}; alias g='echo \"it'\\''s\"'", "")
	s.want("f; _p; g", "hi\np\nit's\n")
	s.want("unset -f f; unalias g", "")
	if r := s.run("f; g"); r.status != 127 {
		t.Errorf("a removed function still runs: %q", r.out)
	}
	s.want("_p", "p\n")
	s.wantClean()
}

func TestPosixAliasesCarryOver(t *testing.T) {
	posixShells(t, func(t *testing.T, s *session) {
		s.want(`alias g='echo "it'"'"'s"'; alias h='echo a
echo b'`, "")
		s.want("g\nh", "it's\na\nb\n")
		s.want("unalias g", "")
		s.want("h", "a\nb\n")
		if _, ok := s.st.Aliases["g"]; ok {
			t.Error("a removed alias is still there")
		}
	})
}

func TestWorkingDirectoryCarriesOver(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		dir := filepath.Join(s.st.Env["HOME"], "a b\n'c")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		s.want("cd /tmp", "")
		s.want("pwd", "/tmp\n")
		s.want(`cd ~/"a b`+"\n"+`'c"`, "")
		if s.st.Cwd != dir {
			t.Errorf("cwd is %q", s.st.Cwd)
		}
		s.want("cd - >/dev/null; pwd", "/tmp\n")
		s.want("mkdir ~/gone; cd ~/gone; rmdir ~/gone; A=1", "")
		if s.st.Cwd != "/tmp" && s.st.Cwd != s.st.Env["HOME"]+"/gone" {
			t.Errorf("in a removed directory the cwd is %q", s.st.Cwd)
		}
	})
}

func TestSymlinkedDirectoryBecomesPhysical(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		home, _ := filepath.EvalSymlinks(s.st.Env["HOME"])
		s.want("mkdir ~/real; ln -s real ~/link", "")
		for _, line := range []string{"cd ~/link", "cd ~/link; export A=1"} {
			s.st.Cwd = "/"
			s.want(line, "")
			if s.st.Cwd != home+"/real" {
				t.Errorf("%s: cwd is %q", line, s.st.Cwd)
			}
		}
	})
}

func TestExitKeepsStatusAndState(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		s.wantStatus("export B=2; cd /usr; exit 7", 7)
		s.want(`echo "$B"; pwd`, "2\n/usr\n")
		s.wantStatus("export C=3; false", 1)
		s.wantStatus("export D=4\nif then", 2)
		s.wantStatus("set -e; export E=5; false; export E=6", 1)
		s.wantStatus("set -u; export F=6; echo $nope; export F=7", map[Shell]int{Bash: 127, Posix: 2}[s.shell])
		s.wantStatus("export G=7; nosuchcommand", 127)
		s.wantStatus("( export H=8; cd /; exit 3 )", 3)
		s.want(`echo "$C $D $E $F $G ${H-none}"; pwd`, "3 4 5 6 7 none\n/usr\n")
	})
}

func TestSyntaxErrorIsTheShellsOwn(t *testing.T) {
	s := bash(t)
	r := s.wantStatus("if then", 2)
	if !strings.Contains(r.err, "-c: line 1: syntax error near unexpected token `then'") || strings.Contains(r.err, "hermes") {
		t.Errorf("stderr: %q", r.err)
	}
	s.want("echo $0 $# $LINENO $-", "/bin/bash 0 1 hBc\n")
	posixShells(t, func(t *testing.T, s *session) {
		s.wantStatus("if then", 2)
		s.want("echo $#", "0\n")
	})
}

func TestLineMayLookLikeAnOption(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		s.wantStatus("-x || export A=1", 0)
		s.wantStatus("+x || export B=2", 0)
		s.want("echo $A$B", "12\n")
		s.want("", "")
	})
}

func TestUnsetOfAnInitialVariableSticks(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		s.want("unset INITIAL PATH", "")
		s.want(`echo "${INITIAL-gone}"`, "gone\n")
		if _, ok := s.st.Env["INITIAL"]; ok {
			t.Error("INITIAL is back")
		}
	})
}

func TestNamesThatNoShellCanHoldPassThrough(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		s.st.Env["foo.bar"] = "1"
		s.want("export A=1", "")
		if s.st.Env["foo.bar"] != "1" {
			t.Error("foo.bar was lost")
		}
	})
	s := bash(t)
	s.st.Env["foo.bar"] = "1"
	s.want("env | grep foo", "foo.bar=1\n")
}

func TestInjectedValuesStayOutOfTheSession(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		s.st.Env["TOKEN"] = "old"
		inject := Options{Inject: map[string]string{"TOKEN": "fresh", "ONCE": "1", "HERMES_SESSION_ID": "s"}}
		if r := s.begin("echo $TOKEN $ONCE; export TOUCHED=1 HERMES_RPC_X=1 HERMES_SESSION_ID=t HERMES_KERNEL_DIR=k AI_AGENT=other", inject)(); r.out != "fresh 1\n" {
			t.Errorf("out %q", r.out)
		}
		s.want(`echo "$TOKEN ${ONCE-none} $TOUCHED ${HERMES_RPC_X-none} ${HERMES_SESSION_ID-none} $AI_AGENT"`, "old none 1 none none hermes\n")
		s.want("export ONCE=session", "")
		if r := s.begin("echo $ONCE", inject)(); r.out != "1\n" {
			t.Errorf("the session won over this command's value: %q", r.out)
		}
	})
}

// What a command is given stays its giver's, whatever the command makes of it: a
// token that got into a session would be stale for its own profile, and known to
// another.
func TestD19WhatACommandMakesOfAnInjectedValueEndsWithIt(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		inject := Options{Inject: map[string]string{"TOKEN": "secret", "OWN": "secret"}}
		s.st.Env["OWN"] = "mine"
		lines := []string{"export TOKEN=$TOKEN-more OWN=$OWN-more", "unset TOKEN OWN", "export TOKEN= OWN="}
		if s.shell == Bash {
			lines = append(lines, "declare -rx TOKEN OWN", "declare -ax TOKEN OWN; TOKEN+=(x); OWN+=(x)", "declare -ux TOKEN OWN; TOKEN=$TOKEN; OWN=$OWN")
		}
		for _, line := range lines {
			s.begin(line+"; export AND=1", inject)()
			if _, found := s.st.Attrs["TOKEN"]; found {
				t.Errorf("%s: TOKEN is declared in the session", line)
			}
			s.want(`echo "${TOKEN-none} $OWN $AND"; unset AND`, "none mine 1\n")
		}
		for kind, values := range map[string]map[string]string{"variable": s.st.Env, "declaration": s.st.Attrs} {
			for name, value := range values {
				if strings.Contains(strings.ToLower(value), "secret") {
					t.Errorf("the session has the value in its %s %s", kind, name)
				}
			}
		}
	})
}

func TestDefaultEnvironment(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		show := `echo "$LANG $AI_AGENT $HERMES_AGENT $GIT_PAGER $PAGER"`
		s.want(show, "C.UTF-8 hermes 1 cat cat\n")
		s.wantClean()
		s.want("export PAGER=less GIT_PAGER= LANG=C", "")
		s.want(show, "C hermes 1  less\n")
	})
}

func TestParallelCommandsMerge(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		s.want("export BOTH=0 GONE=1; cd /usr", "")
		first := s.begin("export ONE=1 BOTH=1; unset GONE", Options{})
		second := s.begin("export TWO=2; cd /tmp", Options{})
		third := s.begin("export THREE=3 BOTH=3", Options{})
		third()
		second()
		first()
		s.want(`echo "$ONE $TWO $THREE $BOTH ${GONE-gone}"; pwd`, "1 2 3 1 gone\n/tmp\n")
	})
	s := bash(t)
	first := s.begin("f() { echo f; }; alias a='echo a'", Options{})
	second := s.begin("g() { echo g; }; alias b='echo b'", Options{})
	second()
	first()
	s.want("f; g; a; b", "f\ng\na\nb\n")
}

func TestLoginTakesUpTheProfile(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		s.st.Env["PATH"] = "/image/bin:" + basePath
		profile := "cd /usr; export FROM_PROFILE=1 PS1='> ' PATH=/opt/tool:/usr/bin:/bin; alias pa='echo alias'\n"
		if s.shell == Bash {
			profile += "pf() { echo function; }\nbash -c 'export CHILD=1'\n"
		}
		if err := os.WriteFile(filepath.Join(s.st.Env["HOME"], ".profile"), []byte(profile), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := s.begin("", Options{Login: true})(); r.report != nil || r.status != 0 {
			t.Fatalf("login: %+v", r)
		}
		s.want(`echo $FROM_PROFILE; pwd; pa; echo "$PS1"`, "1\n/\nalias\n> \n")
		if s.shell == Bash {
			s.want("pf", "function\n")
		}
		if p := s.st.Env["PATH"]; !strings.HasPrefix(p, "/opt/tool:") || !strings.HasSuffix(p, "/image/bin:"+basePath) {
			t.Errorf("PATH is %s", p)
		}
		s.wantClean()
	})
}

func TestBrokenProfileLeavesNoReport(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		if err := os.WriteFile(filepath.Join(s.st.Env["HOME"], ".profile"), []byte("exit 3\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := s.begin("", Options{Login: true})(); r.report != ErrNoReport || r.status != 3 {
			t.Errorf("login: %+v", r)
		}
	})
}
