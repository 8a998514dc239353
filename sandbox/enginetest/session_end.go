package enginetest

import (
	"fmt"
	"testing"

	"hermes.example/hermes/sandbox"
)

var sessionEndTests = []test{
	{"sessions/D20 exit keeps exports and directory and its status", exitKeepsState},
	{"sessions/D20 exec keeps exports and directory", execKeepsState},
	{"sessions/D20 set -e keeps exports and directory", errexitKeepsState},
	{"sessions/a user's EXIT trap runs and the state is kept", userTrapIsChained},
	{"sessions/a background child does not keep the report open", backgroundReport},
	{"sessions/a signal that the shell survives keeps the state", survivedSignal},
}

func exitKeepsState(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	if o := p.line("export B=2; cd /usr; exit 7").ended(7, sandbox.Exited); o.Cwd != "/usr" {
		t.Errorf("the result's directory is %q", o.Cwd)
	}
	p.says("echo $B $PWD", "2 /usr")
	p.line("f(){ export B=3; cd /tmp; exit 8; }; f; echo unreached").ended(8, sandbox.Exited).printed("")
	p.says("echo $B $PWD", "3 /tmp")
	p.line("(export B=4; cd /; exit 9)").ended(9, sandbox.Exited)
	p.says("echo $B $PWD", "3 /tmp")
	p.line("export B=5; eval 'exit 10'").ended(10, sandbox.Exited)
	p.says("echo $B", "5")
}

func execKeepsState(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	for i, line := range []string{
		"exec true", "exec /bin/sh -c 'exit 0'", "if :; then exec true; fi", "run(){ exec true; }; run", "X=1 exec true", "exec >/dev/null; exec true",
	} {
		dir := []string{"/usr", "/tmp"}[i%2]
		if o := p.line(fmt.Sprintf("export E=%d; cd %s; %s", i, dir, line)).ended(0, sandbox.Exited); o.Cwd != dir {
			t.Errorf("%q: the result's directory is %q", line, o.Cwd)
		}
		p.says("echo $E $PWD", fmt.Sprint(i, " ", dir))
	}
	p.line("export E=last; exec sh -c 'exit 11'").ended(11, sandbox.Exited)
	p.says("echo $E", "last")
	p.line("export E=none; exec no-such-program 2>/dev/null").ended(127, sandbox.Exited)
	p.says("echo $E", "none")
	// Only descriptors change, and the line goes on.
	p.says("exec 3>/tmp/three; echo x >&3; export E=after; cat /tmp/three", "x")
	p.says("echo $E", "after")
}

func errexitKeepsState(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	p.line("set -e; export S=1; cd /usr; false; echo unreached").ended(1, sandbox.Exited).printed("")
	p.says("echo $S $PWD; false; echo on", "1 /usr\non")
	p.line("set -eu; export S=2; cd /tmp; echo $nothing").ended(1, sandbox.Exited)
	p.says("echo $S $PWD; echo ${nothing}on", "2 /tmp\non")
	p.line("set -euo pipefail; export S=3; (exit 12) | true; echo unreached").ended(12, sandbox.Exited).printed("")
	p.says("echo $S", "3")
}

func userTrapIsChained(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	p.line("trap 'echo bye $?' EXIT; export T=1; cd /usr; exit 5").ended(5, sandbox.Exited).printed("bye 5\n")
	p.says("echo $T $PWD", "1 /usr")
	p.line("export T=2; trap 'exit 6' EXIT; exit 5").ended(6, sandbox.Exited)
	p.says("trap -p EXIT; echo $T", "2")
}

func backgroundReport(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.session("s")
	p.line("export A=1; cd /usr; sleep 1000 & export B=2").ended(0, sandbox.Exited)
	p.says("echo $A $B $PWD", "1 2 /usr")
	// What the child's shell does after the line's end is not the session's.
	p.line("(until [ -e /tmp/go ]; do sleep 0.02; done; export A=9; cd /; : >/tmp/did) & :").ended(0, sandbox.Exited)
	b.output(": >/tmp/go")
	b.until("[ -e /tmp/did ]")
	p.says("echo $A $PWD", "1 /usr")
}

func survivedSignal(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	p.line("trap 'export G=1' USR1; kill -USR1 $$; cd /usr").ended(0, sandbox.Exited)
	p.says("echo $G $PWD", "1 /usr")
}
