package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

var sessionTests = []test{
	{"sessions/an exported variable reaches the next command", exportIsKept},
	{"sessions/a variable that is not exported does not", plainVariableIsNot},
	{"sessions/D21 functions and aliases reach the next command", functionsAreKept},
	{"sessions/the working directory is kept and reported", directoryIsKept},
	{"sessions/a failing command keeps the state", failureKeepsState},
	{"sessions/a syntax error keeps the state", syntaxErrorKeepsState},
	{"sessions/D23 a directory that vanished is replaced by its nearest parent", vanishedDirectory},
	{"sessions/options traps and umask do not carry over", optionsAreNotKept},
	{"sessions/the output is only the command's", outputIsTheCommands},
	{"sessions/many do not mix", manySessions},
	{"sessions/they survive their manager", sessionsSurviveManager},
	{"sessions/they survive their process", sessionsSurviveProcess},
	{"sessions/commands outside of one do not see it", noSession},
	{"sessions/the state can be listed by name", stateIsListed},
	{"sessions/a command that is ended by force changes nothing", forceChangesNothing},
	{"sessions/one that is forgotten begins anew", forgottenSession},
}

func exportIsKept(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	p.output("export A=1")
	p.says("echo $A", "1")
	p.output("export A=2 MULTI=$'a\n\nb \"q\" $x \\\\'")
	p.says("echo $A; printf %s \"$MULTI\"", "2\na\n\nb \"q\" $x \\")
	p.run(sandbox.Command{Argv: []string{"printenv", "A"}}).printed("2\n")
	p.output("declare -ax LIST=(x 'y z'); declare -ix NUMBER=4")
	p.says(`echo ${#LIST[@]} "${LIST[1]}"; NUMBER=NUMBER+3; echo $NUMBER`, "2 y z\n7")
}

func plainVariableIsNot(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	p.output("B=2; C=(1 2)")
	p.says(`echo "$B${C[*]}"`, "")
}

func functionsAreKept(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	p.output("f(){ echo hi;}; alias ll='echo list'; _p(){ echo p;}")
	p.says("f", "hi")
	p.says("ll x", "list x")
	p.says("_p", "p")
	p.output("unset -f f; unalias ll; _p(){ echo q;}")
	p.line("f").ended(127, sandbox.Exited)
	p.line("ll").ended(127, sandbox.Exited)
	p.says("_p", "q")
	p.output("outer(){ _inner \"$@\"; }; _inner(){ cat <<END\n$1 {\nEND\n}")
	p.says("outer x", "x {")
}

func directoryIsKept(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	if o := p.line("cd /tmp").ended(0, sandbox.Exited); o.Cwd != "/tmp" {
		t.Errorf("the result's directory is %q", o.Cwd)
	}
	p.says("pwd", "/tmp")
	p.run(sandbox.Command{Argv: []string{"pwd"}}).printed("/tmp\n")
	if o := p.run(sandbox.Command{Line: "pwd", Cwd: "/usr"}).printed("/usr\n"); o.Cwd != "/tmp" {
		t.Errorf("where one command ran became the session's directory %q", o.Cwd)
	}
	if o := p.run(sandbox.Command{Line: "cd bin; pwd", Cwd: "/usr"}).printed("/usr/bin\n"); o.Cwd != "/usr/bin" {
		t.Errorf("the session's directory is %q, not where the command went", o.Cwd)
	}
	p.output("mkdir -p '/tmp/odd name\n$x'; cd '/tmp/odd name\n$x'")
	p.says("pwd", "/tmp/odd name\n$x")
	p.output("ln -s /tmp/odd* /tmp/link; cd /tmp/link")
	p.says("pwd; cd ..; pwd", "/tmp/odd name\n$x\n/tmp")
}

func failureKeepsState(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	p.line("export A=1; cd /usr; false").ended(1, sandbox.Exited)
	p.says("echo $A $PWD", "1 /usr")
}

func syntaxErrorKeepsState(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	p.output("export A=1; cd /usr; f(){ echo hi; }")
	o := p.split(sandbox.Command{Line: "if then"}).ended(2, sandbox.Exited).printed("")
	if !strings.Contains(o.Err, "syntax error") {
		t.Errorf("the error output is %q", o.Err)
	}
	p.says("echo $A $PWD; f", "1 /usr\nhi")
}

func vanishedDirectory(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.session("s")
	p.output("mkdir -p /tmp/a/b/c; cd /tmp/a/b/c")
	b.output("rm -r /tmp/a/b")
	o := p.split(sandbox.Command{Line: "pwd; exit 5"}).ended(5, sandbox.Exited).printed("/tmp/a\n")
	if o.CwdFallback != "/tmp/a" || o.Cwd != "/tmp/a" {
		t.Errorf("the result says %q, and %q for the session", o.CwdFallback, o.Cwd)
	}
	if strings.Count(o.Err, "\n") != 1 || !strings.Contains(o.Err, "no longer exists; running in /tmp/a") {
		t.Errorf("the error output is %q", o.Err)
	}
	if o := p.split(sandbox.Command{Line: "pwd"}).ended(0, sandbox.Exited).printed("/tmp/a\n"); o.CwdFallback != "" || o.Err != "" {
		t.Errorf("it was said again: %q %q", o.CwdFallback, o.Err)
	}
	// One that the command removes under itself is the next one's problem.
	p.line("mkdir x; cd x; rmdir /tmp/a/x; true").ended(0, sandbox.Exited)
	p.split(sandbox.Command{Argv: []string{"pwd"}}).ended(0, sandbox.Exited).printed("/tmp/a\n")
	// Replaced by a file, it is no directory either.
	p.output("mkdir y; cd y; rmdir /tmp/a/y; : >/tmp/a/y")
	p.line("exit 6").ended(6, sandbox.Exited)
}

func optionsAreNotKept(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	probe := "echo $-; shopt extglob nullglob; umask; trap; ulimit -Sn; dirs"
	before := p.line(probe).Out
	p.output("set -f -u; shopt -s nullglob; umask 000; trap 'true' USR1; ulimit -Sn 99; pushd /tmp >/dev/null; popd >/dev/null")
	p.line(probe).printed(before)
}

func outputIsTheCommands(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	p.output("export A=1; f(){ :; }; alias x=y")
	for _, line := range []string{"true", ":", "cd /tmp", "export B=2", "exit 0", "f", "trap : EXIT", "eval ':'", "exec true", "set +x", "unset A"} {
		o := p.split(sandbox.Command{Line: line}).ended(0, sandbox.Exited).printed("")
		if o.Err != "" {
			t.Errorf("%q has the error output %q", line, o.Err)
		}
	}
	// What bash itself counts must be the command's too.
	p.says("echo $LINENO $0 $# $SHLVL", "1 bash 0 1")
}

func manySessions(t *testing.T, s *suite) {
	b := s.box(t)
	var all sync.WaitGroup
	const n = 30
	for i := range n {
		all.Go(func() {
			p := b.session(fmt.Sprintf("session %d", i))
			p.output(fmt.Sprintf("export ME=%d; mkdir -p /tmp/%d; cd /tmp/%d; f(){ echo f%d; }", i, i, i, i))
			p.says("echo $ME $PWD; f", fmt.Sprintf("%d /tmp/%d\nf%d", i, i, i))
		})
	}
	all.Wait()
	if st := b.status(); len(st.Sessions) != n {
		t.Errorf("%d sessions are listed, not %d", len(st.Sessions), n)
	}
}

func sessionsSurviveManager(t *testing.T, s *suite) {
	id := s.identity(t)
	first := sandbox.NewManager(s.engine, sandbox.Options{NoSweep: true})
	s.ensure(t, first, id, s.spec()).session("kept").output("export A=1; cd /usr; f(){ echo hi; }; alias x='echo alias'")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	s.ensure(t, s.another(t, s.engine), id, s.spec()).session("kept").says("echo $A $PWD; f; x", "1 /usr\nhi\nalias")
}

func sessionsSurviveProcess(t *testing.T, s *suite) {
	id := s.identity(t)
	e := errand{Identity: id, Spec: s.spec(), Session: "kept", Line: "export A=1; cd /usr; f(){ echo hi; }"}
	if result, _ := s.elsewhere(t, e).done(); result.Code != 0 || result.Cwd != "/usr" {
		t.Fatalf("%+v", result)
	}
	s.ensure(t, s.manager, id, s.spec()).session("kept").says("echo $A $PWD; f; export A=2", "1 /usr\nhi")
	e.Line = "echo $A"
	if _, out := s.elsewhere(t, e).done(); out != "2\n" {
		t.Errorf("the other process sees %q", out)
	}
}

func noSession(t *testing.T, s *suite) {
	b := s.box(t)
	b.session("s").output("export A=1; cd /usr")
	b.says("echo $A$PWD", sandbox.Workspace)
	b.session("other").says("echo $A$PWD", sandbox.Workspace)
	b.output("export A=2; cd /tmp")
	b.session("s").says("echo $A$PWD", "1/usr")
	if o := b.line("cd /tmp"); o.Cwd != "" {
		t.Errorf("a command without a session reports %q as the session's directory", o.Cwd)
	}
}

func stateIsListed(t *testing.T, s *suite) {
	b := s.box(t)
	session := b.Session("s")
	if _, err := session.State(bounded(t)); err == nil {
		t.Error("a session that was never used has a state")
	}
	b.session("s").output("export SECRET=hidden-value; cd /usr; f(){ :; }; alias ll=ls")
	st, err := session.State(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	if st.Cwd != "/usr" || !slices.Contains(st.Variables, "SECRET") || !slices.Contains(st.Functions, "f") || !slices.Contains(st.Aliases, "ll") {
		t.Errorf("the state is %+v", st)
	}
	if strings.Contains(fmt.Sprint(st), "hidden-value") {
		t.Error("a value is listed")
	}
}

func forgottenSession(t *testing.T, s *suite) {
	b := s.box(t)
	b.session("s").output("export A=1; cd /usr")
	b.session("other").output("export A=2")
	if err := s.manager.ForgetSession(bounded(t), b.Identity(), "s"); err != nil {
		t.Fatal(err)
	}
	st, err := b.Status(bounded(t))
	if err != nil || !slices.Equal(st.Sessions, []string{"other"}) {
		t.Errorf("there are the sessions %v, %v", st.Sessions, err)
	}
	if err := s.manager.ForgetSession(bounded(t), b.Identity(), "s"); err == nil {
		t.Error("it was forgotten twice")
	}
	b.session("s").says("echo ${A-none} $PWD", "none "+sandbox.Workspace)
	b.session("other").says("echo $A", "2")
}

func forceChangesNothing(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	p.output("export A=1")
	p.run(sandbox.Command{Line: "export A=2; cd /usr; sleep 300", Timeout: 500 * time.Millisecond}).ended(124, sandbox.TimedOut)
	p.interrupted(sandbox.Command{Line: "export A=3; cd /usr; echo go; sleep 300"}).ended(130, sandbox.Interrupted)
	p.line("export A=4; cd /usr; kill -9 $$; sleep 300").ended(137, sandbox.Signaled)
	p.says("echo $A $PWD", "1 "+sandbox.Workspace)
}
