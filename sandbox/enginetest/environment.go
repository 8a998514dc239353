package enginetest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

var environmentTests = []test{
	{"environment/commands have a usual one", usualEnvironment},
	{"environment/nothing of the caller's gets in", callersEnvironment},
	{"environment/a command's variables win over the spec's", commandEnvironment},
	{"environment/every signal has its default", signalDefaults},
	{"environment/odd values arrive as they are", oddValues},
	{"environment/a megabyte of the spec's arrives", largeSpecEnvironment},
	{"environment/a megabyte of the command's arrives", largeCommandEnvironment},
	{"environment/what no program can be given is said", impossibleEnvironment},
}

func usualEnvironment(t *testing.T, s *suite) {
	b := s.box(t)
	for _, p := range []place{b.place, b.session("s")} {
		who := "root"
		if !s.isolated() {
			who = p.output("id -un")
		}
		p.says("echo $HOME $LANG $USER $LOGNAME", sandbox.Home+" C.UTF-8 "+who+" "+who)
		p.output("test -x $SHELL && command -v ls && command -v sh")
	}
	german := s.box(t, func(spec *sandbox.Spec) { spec.Env = map[string]string{"LANG": "de_DE.UTF-8"} })
	german.says("echo $LANG", "de_DE.UTF-8")
	german.session("s").says("echo $LANG", "de_DE.UTF-8")
}

func callersEnvironment(t *testing.T, s *suite) {
	b := s.box(t)
	usual := " PATH HOME LANG USER LOGNAME SHELL PWD TERM SHLVL "
	for _, p := range []place{b.place, b.session("s")} {
		env := "\n" + p.output("env")
		for _, e := range os.Environ() {
			name, value, _ := strings.Cut(e, "=")
			if name != "" && !strings.Contains(usual, " "+name+" ") && strings.Contains(env, "\n"+name+"="+value+"\n") {
				t.Errorf("the caller's %s is inside", name)
			}
		}
	}
}

func commandEnvironment(t *testing.T, s *suite) {
	b := s.box(t, func(spec *sandbox.Spec) { spec.Env = map[string]string{"A": "spec", "B": "spec"} })
	for _, p := range []place{b.place, b.session("s")} {
		for _, c := range []sandbox.Command{{Line: "printenv A B C"}, {Argv: []string{"printenv", "A", "B", "C"}}} {
			c.Env = map[string]string{"B": "command", "C": "command"}
			p.run(c).ended(0, sandbox.Exited).printed("spec\ncommand\ncommand\n")
		}
	}
}

func oddValues(t *testing.T, s *suite) {
	values := map[string]string{
		"EMPTY": "", "LINES_OF": "a\nb\n\nc\n", "QUOTES": `'"` + "`\\$x", "UNICODE": "grün 漢字 \U0001f600", "EQUALS": "a=b=c",
		"FUNCTION": "() { echo x; }", "SPACES": "  a  b\t", "ESCAPE": "\x1b[0m",
	}
	b := s.box(t, func(spec *sandbox.Spec) { spec.Env = values })
	for _, p := range []place{b.place, b.session("s")} {
		for name, want := range values {
			p.run(sandbox.Command{Argv: []string{"printenv", name}}).printed(want + "\n")
			p.line("printenv " + name).printed(want + "\n")
		}
	}
	plain := s.box(t)
	values["BYTES"] = "\xff\xfe \xc3"
	for _, p := range []place{plain.place, plain.session("s")} {
		for name, want := range values {
			p.run(sandbox.Command{Line: "printenv " + name, Env: values}).printed(want + "\n")
			p.run(sandbox.Command{Argv: []string{"printenv", name}, Env: values}).printed(want + "\n")
		}
		p.run(sandbox.Command{Line: "printf '\xfe' >$'/tmp/\xff'; cat $'/tmp/\xff'"}).printed("\xfe")
	}
}

// megabyte is as much as a program can be given, in pieces that it can be given.
func megabyte() (env map[string]string, sum string) {
	env = make(map[string]string)
	for i := range 12 {
		env[fmt.Sprintf("BIG_%02d", i)] = strings.Repeat(string(rune('a'+i)), 100_000)
	}
	return env, "12 1200000"
}

// count prints how many of the big variables there are, and their length.
const count = `printenv | awk -F= '/^BIG_/ { n++; s += length($2) } END { print n, s }'`

func largeSpecEnvironment(t *testing.T, s *suite) {
	env, sum := megabyte()
	b := s.box(t, func(spec *sandbox.Spec) { spec.Env = env })
	b.says(count, sum)
	b.session("s").says(count, sum)
	b.session("s").says(count, sum)
}

func largeCommandEnvironment(t *testing.T, s *suite) {
	env, sum := megabyte()
	b := s.box(t)
	for _, p := range []place{b.place, b.session("s")} {
		p.run(sandbox.Command{Line: count, Env: env}).ended(0, sandbox.Exited).printed(sum + "\n")
	}
}

func impossibleEnvironment(t *testing.T, s *suite) {
	b := s.box(t)
	o := b.run(sandbox.Command{Line: "true", Env: map[string]string{"BIG": strings.Repeat("x", 200_000)}}).ended(126, sandbox.NotStarted)
	if !strings.Contains(o.Message, "argument list too long") {
		t.Errorf("the message is %q", o.Message)
	}
	b.says("echo well", "well")
}

// What the guest ignores or blocks for itself must not be inherited.
func signalDefaults(t *testing.T, s *suite) {
	b := s.box(t)
	o := b.run(sandbox.Command{Argv: []string{"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}})
	o.printed("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n")
}
