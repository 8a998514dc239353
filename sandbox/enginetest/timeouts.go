package enginetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

var timeoutTests = []test{
	{"timeouts/a timeout is 124 with the output so far and one line", timeoutLine},
	{"timeouts/the line begins at the left edge", timeoutLineAlone},
	{"timeouts/the line goes to the error output where that is apart", timeoutLineApart},
	{"timeouts/nothing of the tree is left", timeoutLeavesNothing},
	{"timeouts/a tree that ignores the request is killed", stubbornTree},
	{"timeouts/a tree that ends in its grace has its last words", graceIsGiven},
	{"timeouts/a stopped tree ends too", stoppedTree},
	{"timeouts/other commands go on", timeoutSparesOthers},
	{"timeouts/a caller that cancels is answered 130 with its line", interruptLine},
	{"timeouts/a natural 130 has no line", naturalInterrupt},
	{"timeouts/an interrupt takes the whole tree", interruptLeavesNothing},
}

func timeoutLine(t *testing.T, s *suite) {
	b := s.box(t)
	for _, p := range []place{b.place, b.session("s")} {
		p.run(sandbox.Command{Line: "echo a; sleep 300", Timeout: time.Second}).
			ended(124, sandbox.TimedOut).printed("a\n[Command timed out after 1s]\n")
	}
	b.run(sandbox.Command{Argv: []string{"sleep", "300"}, Timeout: 1500 * time.Millisecond}).
		ended(124, sandbox.TimedOut).printed("[Command timed out after 1.5s]\n")
}

func timeoutLineAlone(t *testing.T, s *suite) {
	b := s.box(t)
	b.run(sandbox.Command{Line: "sleep 300", Timeout: 300 * time.Millisecond}).
		ended(124, sandbox.TimedOut).printed("[Command timed out after 0.3s]\n")
	b.run(sandbox.Command{Line: "printf half; sleep 300", Timeout: 500 * time.Millisecond}).
		ended(124, sandbox.TimedOut).printed("half\n[Command timed out after 0.5s]\n")
}

func timeoutLineApart(t *testing.T, s *suite) {
	b := s.box(t)
	o := b.split(sandbox.Command{Line: "printf out; printf err >&2; sleep 300", Timeout: 500 * time.Millisecond}).
		ended(124, sandbox.TimedOut).printed("out")
	if want := "err\n[Command timed out after 0.5s]\n"; o.Err != want {
		t.Errorf("the error output is %q, not %q", o.Err, want)
	}
	o = b.split(sandbox.Command{Line: "printf out; sleep 300", Timeout: 500 * time.Millisecond}).printed("out")
	if want := "[Command timed out after 0.5s]\n"; o.Err != want {
		t.Errorf("the error output is %q, not %q", o.Err, want)
	}
}

// tree starts processes that leave their command in the usual ways: group,
// session, parent, environment, all at once.
const tree = `exec 2>/dev/null
sleep 301 &
setsid sleep 302 &
nohup sleep 303 >/dev/null 2>&1 &
(sleep 304 & )
(setsid sh -c 'sleep 305 & exec sleep 306' & )
env -i setsid sh -c '(env -i sleep 307 &) ; sleep 308' &
sh -c 'trap "" TERM HUP; while :; do sleep 309; done' &
`

// empties waits until nothing lives inside any more: a killed process is listed
// until its parent has taken notice.
func (b *box) empties() {
	b.t.Helper()
	eventually(b.t, "the sandbox is empty", func() bool {
		st := b.status()
		return st.Commands == 0 && st.Processes == 0
	})
}

func timeoutLeavesNothing(t *testing.T, s *suite) {
	b := s.box(t)
	o := b.run(sandbox.Command{Line: tree + "echo made; wait", Timeout: 2 * time.Second, Grace: 200 * time.Millisecond}).
		ended(124, sandbox.TimedOut).printed("made\n[Command timed out after 2s]\n")
	if len(o.Survivors) > 0 {
		t.Errorf("survivors: %v", o.Survivors)
	}
	if st := b.status(); st.Processes != 0 {
		t.Errorf("%d processes are left: %s", st.Processes, b.line("grep -h Name /proc/[0-9]*/status").Out)
	}
}

func stubbornTree(t *testing.T, s *suite) {
	b := s.box(t)
	b.run(sandbox.Command{Line: "exec 2>/dev/null; trap 'echo no' TERM; while :; do sleep 0.1; done", Timeout: 300 * time.Millisecond, Grace: 300 * time.Millisecond}).
		ended(124, sandbox.TimedOut).printed("no\n[Command timed out after 0.3s]\n")
	b.empties()
}

func graceIsGiven(t *testing.T, s *suite) {
	b := s.box(t)
	b.run(sandbox.Command{Line: "trap 'echo saved; exit 0' TERM; sleep 300 & wait", Timeout: 500 * time.Millisecond, Grace: hang / 2}).
		ended(124, sandbox.TimedOut).printed("saved\n[Command timed out after 0.5s]\n")
}

func stoppedTree(t *testing.T, s *suite) {
	b := s.box(t)
	b.run(sandbox.Command{Line: "kill -STOP $$", Timeout: 300 * time.Millisecond}).ended(124, sandbox.TimedOut)
	b.empties()
}

func timeoutSparesOthers(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("setsid sleep 300 >/dev/null 2>&1 & echo $! >/tmp/kept")
	other := b.beside(sandbox.Command{Line: "until [ -e /tmp/over ]; do sleep 0.02; done; echo whole"})
	b.run(sandbox.Command{Line: tree + "wait", Timeout: time.Second, Grace: 100 * time.Millisecond}).ended(124, sandbox.TimedOut)
	b.output("kill -0 $(cat /tmp/kept) && : >/tmp/over")
	(<-other).ended(0, sandbox.Exited).printed("whole\n")
}

// cancelOn cancels once text has come.
type cancelOn struct {
	strings.Builder
	text   string
	cancel func()
}

func (w *cancelOn) Write(p []byte) (int, error) {
	defer func() {
		if strings.Contains(w.String(), w.text) {
			w.cancel()
		}
	}()
	return w.Builder.Write(p)
}

// interrupted runs a command and cancels it once it has said "go".
func (p place) interrupted(c sandbox.Command) outcome {
	p.t.Helper()
	ctx, cancel := context.WithCancel(bounded(p.t))
	defer cancel()
	out := &cancelOn{text: "go", cancel: cancel}
	c.Stdout = out
	o := p.runIn(ctx, c)
	o.Out = out.String()
	return o
}

func interruptLine(t *testing.T, s *suite) {
	b := s.box(t)
	for _, p := range []place{b.place, b.session("s")} {
		p.interrupted(sandbox.Command{Line: "echo go; sleep 300"}).
			ended(130, sandbox.Interrupted).printed("go\n[Command interrupted]\n")
		p.interrupted(sandbox.Command{Line: "printf go; sleep 300"}).
			ended(130, sandbox.Interrupted).printed("go\n[Command interrupted]\n")
		p.says("echo well", "well")
	}
}

func naturalInterrupt(t *testing.T, s *suite) {
	b := s.box(t)
	b.line("echo a; exit 130").ended(130, sandbox.Exited).printed("a\n")
	b.line("kill -INT $$; sleep 60").ended(130, sandbox.Signaled).printed("")
}

func interruptLeavesNothing(t *testing.T, s *suite) {
	b := s.box(t)
	b.interrupted(sandbox.Command{Line: tree + "echo go; wait", Grace: 200 * time.Millisecond}).ended(130, sandbox.Interrupted)
	if st := b.status(); st.Processes != 0 {
		t.Errorf("%d processes are left: %s", st.Processes, b.line("grep -h Name /proc/[0-9]*/status").Out)
	}
}
