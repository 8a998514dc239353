package enginetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

var terminalTests = []test{
	{"terminal/a command has a terminal of the asked size", terminalSize},
	{"terminal/its kind is in TERM", terminalKind},
	{"terminal/a resize reaches the command", terminalResize},
	{"terminal/what is typed is read", terminalInput},
	{"terminal/an interrupt character interrupts", terminalInterrupt},
	{"terminal/the end of input is an end of file", terminalEnd},
	{"terminal/a timeout ends it", terminalTimeout},
	{"terminal/a shell is a login shell on the terminal", terminalShell},
	{"terminal/a session's state reaches a terminal and comes back", terminalSession},
}

func terminalSize(t *testing.T, s *suite) {
	b := s.box(t)
	o := b.run(sandbox.Command{Line: "stty size; for i in 0 1 2; do [ -t $i ] || echo no; done; tty", Terminal: &sandbox.Terminal{Rows: 31, Cols: 97}}).
		ended(0, sandbox.Exited)
	if s.isolated() {
		o.printed("31 97\r\n/dev/pts/0\r\n")
	} else if !strings.HasPrefix(o.Out, "31 97\r\n/dev/pts/") { // others have terminals, too
		t.Errorf("it says %q", o.Out)
	}
	// It is also the one that governs the command; bash would take care of that itself.
	if o := b.run(sandbox.Command{Argv: []string{"cut", "-d ", "-f7", "/proc/self/stat"}, Terminal: &sandbox.Terminal{Rows: 24, Cols: 80}}); o.Out == "0\r\n" {
		t.Error("it is not the controlling terminal")
	}
	b.line("tty; [ -t 1 ]").ended(1, sandbox.Exited).printed("not a tty\n")
}

func terminalKind(t *testing.T, s *suite) {
	b := s.box(t)
	b.run(sandbox.Command{Line: "echo $TERM", Terminal: &sandbox.Terminal{Rows: 24, Cols: 80, Term: "xterm-256color"}}).printed("xterm-256color\r\n")
	b.run(sandbox.Command{Line: "echo $TERM", Env: map[string]string{"TERM": "mine"}, Terminal: &sandbox.Terminal{Rows: 24, Cols: 80, Term: "xterm"}}).printed("mine\r\n")
}

func terminalResize(t *testing.T, s *suite) {
	b := s.box(t)
	resized := make(chan sandbox.Size)
	c := converse()
	done := b.beside(sandbox.Command{
		Line:   "trap 'n=$((n+1))' WINCH; n=0; echo ready; for i in 1 2; do until [ $n = $i ]; do sleep 0.02; done; stty size; done",
		Stdout: c, Terminal: &sandbox.Terminal{Rows: 24, Cols: 80, Resized: resized},
	})
	c.hears(t, "ready")
	resized <- sandbox.Size{Rows: 50, Cols: 132}
	c.hears(t, "50 132")
	resized <- sandbox.Size{Rows: 10, Cols: 20}
	c.hears(t, "10 20")
	close(resized)
	(<-done).ended(0, sandbox.Exited)
}

func terminalInput(t *testing.T, s *suite) {
	b := s.box(t)
	c := converse()
	done := b.beside(sandbox.Command{Line: "stty -echo; echo ready; read a; read b; echo $((a+b))", Stdin: c, Stdout: c, Terminal: &sandbox.Terminal{Rows: 24, Cols: 80}})
	c.hears(t, "ready")
	fmt.Fprint(c.input, "40\n")
	fmt.Fprint(c.input, "2\n")
	c.hears(t, "42")
	(<-done).ended(0, sandbox.Exited)
}

func terminalInterrupt(t *testing.T, s *suite) {
	b := s.box(t)
	c := converse()
	done := b.beside(sandbox.Command{Line: "trap 'echo caught; exit 9' INT; echo ready; sleep 300 & wait", Stdin: c, Stdout: c, Terminal: &sandbox.Terminal{Rows: 24, Cols: 80}})
	c.hears(t, "ready")
	fmt.Fprint(c.input, "\x03")
	c.hears(t, "caught")
	(<-done).ended(9, sandbox.Exited)
}

func terminalEnd(t *testing.T, s *suite) {
	b := s.box(t)
	o := b.run(sandbox.Command{Line: "stty -echo; cat", Stdin: strings.NewReader("line\n"), Terminal: &sandbox.Terminal{Rows: 24, Cols: 80}}).ended(0, sandbox.Exited)
	if !strings.Contains(o.Out, "line\r\n") {
		t.Errorf("printed %q", o.Out)
	}
}

func terminalTimeout(t *testing.T, s *suite) {
	b := s.box(t)
	o := b.run(sandbox.Command{Line: "echo a; sleep 300", Timeout: 500 * time.Millisecond, Terminal: &sandbox.Terminal{Rows: 24, Cols: 80}}).ended(124, sandbox.TimedOut)
	if want := "a\r\n[Command timed out after 0.5s]\n"; o.Out != want {
		t.Errorf("printed %q, not %q", o.Out, want)
	}
	b.empties()
}

func terminalShell(t *testing.T, s *suite) {
	b := s.box(t)
	b.output(`echo 'export FROM_PROFILE=yes' >~/.profile`)
	c := converse()
	done := beside(t, func() outcome {
		result, err := b.Shell(bounded(t), sandbox.Command{Stdin: c, Stdout: c, Terminal: &sandbox.Terminal{Rows: 24, Cols: 80, Term: "dumb"}})
		if err != nil {
			t.Error(err)
		}
		return outcome{Result: result, t: t}
	})
	fmt.Fprint(c.input, "case $- in *i*) echo $((6*7))-$FROM_PROFILE ;; esac\n")
	c.hears(t, "42-yes")
	fmt.Fprint(c.input, "exit 3\n")
	(<-done).ended(3, sandbox.Exited)
	if _, err := b.Shell(bounded(t), sandbox.Command{}); err == nil {
		t.Error("a shell without a terminal was opened")
	}
}

func terminalSession(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	p.output("export BEFORE=1")
	p.run(sandbox.Command{Line: "echo $BEFORE; export AFTER=2; cd /usr", Terminal: &sandbox.Terminal{Rows: 24, Cols: 80}}).
		ended(0, sandbox.Exited).printed("1\r\n")
	p.says("echo $AFTER $PWD", "2 /usr")
}
