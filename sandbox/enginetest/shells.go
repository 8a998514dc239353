package enginetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

var shellTests = []test{
	{"shells/a broken login shell falls back to a plain one", brokenLogin},
	{"shells/two broken shells are an error that can be seen", brokenShells},
	{"shells/without bash sh runs the lines", plainShell},
	{"shells/without bash a session keeps directory exports and aliases", plainSession},
	{"shells/without any shell programs run and lines are refused", noShell},
}

func brokenLogin(t *testing.T, s *suite) {
	b := s.box(t)
	for name, profile := range map[string]string{
		"leaves": "exit 3", "fails": "set -e; false", "is killed": "kill -9 $$", "replaces itself": "exec false",
	} {
		b.output("cat >~/.bash_profile <<'END'\nexport HALF=1\n" + profile + "\nEND")
		p := b.session(name)
		p.says("echo well; export A=1", "well")
		p.says("echo $A $PWD", "1 "+sandbox.Workspace)
	}
}

// replaced puts a file of the test in the place of the sandbox's bash, and of its
// sh if both is set.
func (s *suite) replaced(t *testing.T, content string, mode os.FileMode, both bool) func(*sandbox.Spec) {
	t.Helper()
	s.need(t, HostMounts)
	file := filepath.Join(t.TempDir(), "bash")
	if err := os.WriteFile(file, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return func(spec *sandbox.Spec) {
		spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: file, Target: "/usr/bin/bash", ReadOnly: true})
		if both {
			for _, target := range []string{"/usr/bin/sh", "/usr/bin/dash"} {
				if info, err := os.Lstat(target); err == nil && info.Mode().IsRegular() {
					spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: file, Target: target, ReadOnly: true})
				}
			}
		}
	}
}

func brokenShells(t *testing.T, s *suite) {
	b := s.box(t, s.replaced(t, "#!/bin/sh\nexit 42\n", 0o755, false))
	o := b.session("s").line("echo unreached").ended(126, sandbox.NotStarted).printed("")
	if !strings.Contains(o.Message, "cannot start a session") || !strings.Contains(o.Message, "exit status 42") {
		t.Errorf("the message is %q", o.Message)
	}
	b.run(sandbox.Command{Argv: []string{"echo", "programs run"}}).ended(0, sandbox.Exited).printed("programs run\n")
}

func plainShell(t *testing.T, s *suite) {
	b := s.box(t, s.replaced(t, "", 0o644, false))
	if shell := b.status().Shell; filepath.Base(shell) != "sh" {
		t.Fatalf("the shell is %q", shell)
	}
	b.line("echo a; [ -z \"$BASH_VERSION\" ]; exit 7").ended(7, sandbox.Exited).printed("a\n")
}

func plainSession(t *testing.T, s *suite) {
	b := s.box(t, s.replaced(t, "", 0o644, false))
	p := b.session("s")
	p.output(`export A=1 M="a
b 'q' \$x"; cd /usr; alias greet='echo hello'; C=3`)
	p.says(`echo $A "$M" $PWD $C; greet`, "1 a\nb 'q' $x /usr\nhello")
	p.line("export A=2; cd /tmp; exit 7").ended(7, sandbox.Exited)
	p.line("set -e; export B=3; false").ended(1, sandbox.Exited)
	p.says("echo $A $B $PWD", "2 3 /tmp")
	p.output("unset A; unalias greet")
	p.line("echo ${A-unset}; greet 2>/dev/null").ended(127, sandbox.Exited).printed("unset\n")
	p.run(sandbox.Command{Line: "echo $T", Env: map[string]string{"T": "x"}}).printed("x\n")
	p.says("echo ${T-unset}", "unset")
	p.line("trap 'echo bye' EXIT; export E=1; exit 5").ended(5, sandbox.Exited).printed("bye\n")
	p.says("echo $E", "1")
	st, err := b.Session("s").State(bounded(t))
	if err != nil || st.Cwd != "/tmp" || len(st.Functions) > 0 {
		t.Errorf("the state is %+v, %v", st, err)
	}
}

func noShell(t *testing.T, s *suite) {
	b := s.box(t, s.replaced(t, "", 0o644, true))
	if shell := b.status().Shell; shell != "" {
		t.Skipf("the sandbox still has the shell %s", shell)
	}
	for _, p := range []place{b.place, b.session("s")} {
		if o := p.line("echo unreached").ended(127, sandbox.NotStarted).printed(""); !strings.Contains(o.Message, "neither bash nor sh") {
			t.Errorf("the message is %q", o.Message)
		}
		p.run(sandbox.Command{Argv: []string{"printf", "runs"}}).ended(0, sandbox.Exited).printed("runs")
	}
}
