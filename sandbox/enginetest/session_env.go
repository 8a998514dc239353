package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

var sessionEnvTests = []test{
	{"sessions/D19 unset lasts", unsetLasts},
	{"sessions/D19 a variable of one command is not captured", commandVariableIsNotCaptured},
	{"sessions/D19 a rotated value is fresh", rotatedValueIsFresh},
	{"sessions/D19 another profile sees no forwarded value", anotherProfileSeesNoForwardedValue},
	{"sessions/variables of the caller's bookkeeping are never kept", bookkeepingIsNotKept},
	{"sessions/D21 the sandbox's PATH survives the login profile", pathSurvivesProfile},
	{"sessions/what the profile sets is there", profileIsTaken},
	{"sessions/a profile that changes directory does not move the first command", profileDoesNotMove},
	{"sessions/a megabyte of variables is kept", largeStateIsKept},
}

func unsetLasts(t *testing.T, s *suite) {
	p := s.box(t, func(spec *sandbox.Spec) { spec.Env = map[string]string{"FROM_SPEC": "x", "OTHER": "y"} }).session("s")
	p.says("echo $FROM_SPEC", "x")
	p.output("unset FROM_SPEC LANG")
	p.says("echo ${FROM_SPEC-unset} $OTHER", "unset y")
	p.run(sandbox.Command{Argv: []string{"printenv", "FROM_SPEC"}}).ended(1, sandbox.Exited)
	p.output("export -n OTHER")
	p.says("echo ${OTHER-unset}", "unset")
}

func commandVariableIsNotCaptured(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	p.run(sandbox.Command{Line: "echo $TOKEN; export TOKEN; export KEPT=1", Env: map[string]string{"TOKEN": "old"}}).printed("old\n")
	p.says("echo ${TOKEN-unset} $KEPT", "unset 1")
	// Nor does it leave a hole where the session has one of that name.
	p.output("export TOKEN=session")
	p.run(sandbox.Command{Line: "echo $TOKEN", Env: map[string]string{"TOKEN": "command"}}).printed("command\n")
	p.says("echo $TOKEN", "session")
}

func rotatedValueIsFresh(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	for _, value := range []string{"first", "second", "third"} {
		p.run(sandbox.Command{Line: "echo $TOKEN; f(){ echo $TOKEN; }; f", Env: map[string]string{"TOKEN": value}}).
			printed(value + "\n" + value + "\n")
	}
	// Even one that the session has as its own yields to a fresh one.
	p.output("export TOKEN=session")
	p.run(sandbox.Command{Line: "echo $TOKEN", Env: map[string]string{"TOKEN": "fourth"}}).printed("fourth\n")
}

// One profile's value is another's secret: they may share a sandbox, and a session.
func anotherProfileSeesNoForwardedValue(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.session("s")
	for _, line := range []string{"echo $TOKEN", "export TOKEN=Bearer-$TOKEN; echo $TOKEN", "readonly TOKEN; echo $TOKEN"} {
		if o := p.run(sandbox.Command{Line: line, Env: map[string]string{"TOKEN": "of A"}}); !strings.Contains(o.Out, "of A") {
			t.Errorf("%q does not see its own value: %q", line, o.Out)
		}
		p.says("echo ${TOKEN-unset}", "unset")
		b.run(sandbox.Command{Line: "echo ${TOKEN-unset}"}).printed("unset\n")
	}
	state, err := b.Session("s").State(bounded(t))
	if err != nil || slices.Contains(state.Variables, "TOKEN") {
		t.Errorf("the session's variables are %v, %v", state.Variables, err)
	}
}

func bookkeepingIsNotKept(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	p.says("echo $AI_AGENT $HERMES_AGENT $PAGER $GIT_PAGER", "hermes 1 cat cat")
	p.output("export HERMES_SESSION_KEY=k HERMES_CRON_SESSION=1 HERMES_RPC_TOKEN=t AI_AGENT=mine HERMES_OTHER=kept PAGER=less")
	p.says("echo ${HERMES_SESSION_KEY-unset} ${HERMES_CRON_SESSION-unset} ${HERMES_RPC_TOKEN-unset} $AI_AGENT $HERMES_OTHER $PAGER",
		"unset unset unset hermes kept less")
}

func pathSurvivesProfile(t *testing.T, s *suite) {
	const path = "/opt/mine/bin:/usr/local/bin:/usr/bin:/bin"
	b := s.box(t, func(spec *sandbox.Spec) { spec.Env = map[string]string{"PATH": path} })
	b.says("echo $PATH", path)
	p := b.session("s")
	if got := p.output("echo $PATH"); got != path && !strings.HasSuffix(got, ":"+path) {
		t.Errorf("PATH is %q: the sandbox's own %q is not whole", got, path)
	}
	b.output(`echo 'PATH=/from/profile:/bin' >~/.profile`)
	if got := b.session("other").output("echo $PATH"); got != "/from/profile:"+path {
		t.Errorf("PATH is %q", got)
	}
}

func profileIsTaken(t *testing.T, s *suite) {
	b := s.box(t)
	b.output(`cat >~/.bash_profile <<'END'
export FROM_PROFILE=yes
alias greet='echo hello'
_helper() { echo helped; }
wrapper() { _helper; }
echo noise
echo noise >&2
END`)
	p := b.session("s")
	p.line("echo $FROM_PROFILE; greet; wrapper").ended(0, sandbox.Exited).printed("yes\nhello\nhelped\n")
	// It is read once: what the session does to its state is not undone.
	p.output("export FROM_PROFILE=no; unset -f wrapper; cd /usr")
	p.line("echo $FROM_PROFILE $PWD; wrapper 2>/dev/null").ended(127, sandbox.Exited).printed("no /usr\n")
}

func profileDoesNotMove(t *testing.T, s *suite) {
	b := s.box(t)
	b.output(`echo 'cd /usr; export SEEN=1' >~/.bash_profile`)
	b.session("s").says("pwd; echo $SEEN", sandbox.Workspace+"\n1")
	elsewhere := s.box(t, func(spec *sandbox.Spec) { spec.Cwd = "/tmp" })
	elsewhere.output(`echo 'cd /usr' >~/.profile`)
	elsewhere.session("s").says("pwd", "/tmp")
}

func largeStateIsKept(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	var make strings.Builder
	for i := range 12 {
		fmt.Fprintf(&make, "export BIG_%02d=$(head -c 100000 /dev/zero | tr '\\0' %c)\n", i, 'a'+i)
	}
	p.output(make.String())
	p.says(`n=0; for v in ${!BIG_*}; do n=$((n+${#v}+0)); eval "n=\$((n+\${#$v}))"; done; echo $n`, fmt.Sprint(12*6+1_200_000))
	p.says("echo ${BIG_11:99999}", "l")
	// Larger than a program can be given, but not than a shell can hold.
	p.output("unset ${!BIG_*}; x=$(head -c 300000 /dev/zero | tr '\\0' x); export HUGE=$x")
	p.says("echo ${#HUGE}", "300000")
	p.says("echo ${#HUGE} ${BIG_00-gone}; unset HUGE", "300000 gone")
	p.says("ls / >/dev/null; echo ${HUGE-gone}", "gone")
}
