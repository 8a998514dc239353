package enginetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

var commandTests = []test{
	{"commands/the status is the command's own", statusIsTheCommands},
	{"commands/a signal is told apart from a status", signalIsToldApart},
	{"commands/a program that does not exist is 127", missingProgram},
	{"commands/a file that cannot be executed is 126", unusableProgram},
	{"commands/a directory that does not exist is 126", missingDirectory},
	{"commands/a program is found in the sandbox's PATH", programInPath},
	{"commands/the directory may be relative or below home", directories},
	{"commands/arguments arrive as they are", argumentsArrive},
	{"commands/fifty run at once", fiftyAtOnce},
	{"commands/what cannot be a command is refused", nonsenseIsRefused},
	{"commands/a long line runs", longLine},
}

func statusIsTheCommands(t *testing.T, s *suite) {
	b := s.box(t)
	for _, code := range []int{0, 1, 7, 124, 126, 127, 137, 255} {
		b.line(fmt.Sprintf("exit %d", code)).ended(code, sandbox.Exited).printed("")
	}
	b.run(sandbox.Command{Argv: []string{"false"}}).ended(1, sandbox.Exited)
	if o := b.line("true"); o.ID == "" || o.Duration <= 0 || o.Message != "" || o.Recreated {
		t.Errorf("a plain command has the result %+v", o.Result)
	}
}

func signalIsToldApart(t *testing.T, s *suite) {
	b := s.box(t)
	for _, signal := range []int{6, 9, 11, 15} {
		o := b.line(fmt.Sprintf("kill -%d $$; sleep 60", signal)).ended(128+signal, sandbox.Signaled)
		if o.Signal != signal {
			t.Errorf("signal %d is reported as %d", signal, o.Signal)
		}
	}
	// The status that a shell gives a killed child is the shell's own.
	b.line("sh -c 'kill -9 $$'; exit $?").ended(137, sandbox.Exited)
}

func missingProgram(t *testing.T, s *suite) {
	b := s.box(t)
	o := b.run(sandbox.Command{Argv: []string{"no-such-program"}}).ended(127, sandbox.NotStarted).printed("")
	if !strings.Contains(o.Message, `"no-such-program": not found`) {
		t.Errorf("the message is %q", o.Message)
	}
	b.run(sandbox.Command{Argv: []string{"/no/such/program"}}).ended(127, sandbox.NotStarted)
	b.line("no-such-program 2>/dev/null").ended(127, sandbox.Exited).printed("")
	b.output("printf '#!/no/such/interpreter\n' >/tmp/script; chmod +x /tmp/script")
	if o := b.run(sandbox.Command{Argv: []string{"/tmp/script"}}).ended(127, sandbox.NotStarted); !strings.Contains(o.Message, "interpreter") {
		t.Errorf("the message is %q", o.Message)
	}
}

func unusableProgram(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("echo data >/tmp/data; chmod 644 /tmp/data; printf '\\x00\\x01' >/tmp/noise; chmod +x /tmp/noise")
	for _, path := range []string{"/tmp/data", "/tmp/noise", "/tmp"} {
		if o := b.run(sandbox.Command{Argv: []string{path}}).ended(126, sandbox.NotStarted); !strings.Contains(o.Message, path) {
			t.Errorf("the message is %q", o.Message)
		}
	}
	b.line("/tmp/data 2>/dev/null").ended(126, sandbox.Exited)
}

func missingDirectory(t *testing.T, s *suite) {
	b := s.box(t)
	for _, p := range []place{b.place, b.session("s")} {
		for _, dir := range []string{"/no/such", "/etc/passwd", "below", "~/below"} {
			o := p.run(sandbox.Command{Line: "echo ran", Cwd: dir}).ended(126, sandbox.NotStarted).printed("")
			if !strings.Contains(o.Message, "no such directory") {
				t.Errorf("the message is %q", o.Message)
			}
		}
		p.says("echo well", "well")
	}
}

func programInPath(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("mkdir /tmp/bin; printf '#!/bin/sh\necho mine \"$0\"\n' >/tmp/bin/mine; chmod +x /tmp/bin/mine; mkdir /tmp/bin/folder")
	env := map[string]string{"PATH": "/tmp/bin:/usr/bin:/bin"}
	b.run(sandbox.Command{Argv: []string{"mine"}, Env: env}).ended(0, sandbox.Exited).printed("mine /tmp/bin/mine\n")
	b.run(sandbox.Command{Argv: []string{"bin/mine"}, Cwd: "/tmp"}).ended(0, sandbox.Exited)
	b.run(sandbox.Command{Argv: []string{"folder"}, Env: env}).ended(127, sandbox.NotStarted)
}

func directories(t *testing.T, s *suite) {
	b := s.box(t)
	b.says("pwd", sandbox.Workspace)
	b.output("mkdir -p ~/in/home below; ln -s /tmp /workspace/link")
	for _, p := range []place{b.place, b.session("s")} {
		for dir, want := range map[string]string{
			"/usr": "/usr", "~": sandbox.Home, "~/in/home": sandbox.Home + "/in/home", "below": "/workspace/below",
			".": "/workspace", "below/..": "/workspace", "link": "/tmp",
		} {
			o := p.run(sandbox.Command{Line: "pwd -P", Cwd: dir}).printed(want + "\n")
			if o.CwdFallback != "" {
				t.Errorf("%q fell back to %q", dir, o.CwdFallback)
			}
		}
	}
	elsewhere := s.box(t, func(spec *sandbox.Spec) { spec.Cwd = "~" })
	elsewhere.says("pwd", sandbox.Home)
	elsewhere.session("s").says("pwd", sandbox.Home)
}

func argumentsArrive(t *testing.T, s *suite) {
	b := s.box(t)
	argv := []string{"printf", `%s|`, "", "a b", `"q'`, "$HOME", "*", "new\nline", "ünï", "\xff\xfe", "-n"}
	b.run(sandbox.Command{Argv: argv}).ended(0, sandbox.Exited).printed(strings.Join(argv[2:], "|") + "|")
	long := strings.Repeat("x", 100_000)
	b.run(sandbox.Command{Argv: []string{"printf", "%s", long}}).printed(long)
}

func fiftyAtOnce(t *testing.T, s *suite) {
	b := s.box(t)
	const n = 50
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			// Each waits for all the others, so they really run together.
			o := b.line(fmt.Sprintf("echo %d; : >/tmp/at-%d; until [ $(ls /tmp | grep -c at-) = %d ]; do sleep 0.05; done; exit %d", i, i, n, i))
			o.ended(i, sandbox.Exited).printed(fmt.Sprintln(i))
		})
	}
	all.Wait()
	if st := b.status(); st.Commands != 0 {
		t.Errorf("%d commands still run", st.Commands)
	}
}

func nonsenseIsRefused(t *testing.T, s *suite) {
	b := s.box(t)
	for name, c := range map[string]sandbox.Command{
		"nothing":                 {},
		"line and program":        {Line: "true", Argv: []string{"true"}},
		"program without a name":  {Argv: []string{""}},
		"NUL byte in the line":    {Line: "echo \x00"},
		"NUL byte in an argument": {Argv: []string{"echo", "\x00"}},
		"NUL byte in a value":     {Line: "true", Env: map[string]string{"A": "\x00"}},
		"name with =":             {Line: "true", Env: map[string]string{"A=B": ""}},
		"negative timeout":        {Line: "true", Timeout: -time.Second},
	} {
		if _, err := b.Exec(bounded(t), c); err == nil || !strings.HasPrefix(err.Error(), "cannot run a command: ") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// A line may hold a file in a here-document, and that file may be large.
func longLine(t *testing.T, s *suite) {
	b := s.box(t)
	text := strings.Repeat(strings.Repeat("0123456789abcde", 8)+"\n", 12_000) // 1.4 MB
	line := "wc -c <<'END'\n" + text + "END\n"
	b.session("s").says(line, fmt.Sprint(len(text)))
	b.says(line, fmt.Sprint(len(text)))
}
