package enginetest

import (
	"errors"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

var lossTests = []test{
	{"loss/a sandbox that ends under a command loses it", endedUnderCommand},
	{"loss/the next command finds a new sandbox and is told", recreated},
	{"loss/a lost command is never started again", lostIsNotRepeated},
	{"loss/a hold that was only attached makes nothing new", attachedIsNotRecreated},
	{"loss/a caller that is killed takes its command with it", killedCaller},
	{"loss/a detached command goes on without its caller", detachedGoesOn},
	{"loss/a line that breaks never leaves a half truth", brokenLine},
	{"loss/a line that broke unnoticed is dialled again", brokenUnnoticed},
}

// removed ends the sandbox under its users, and keeps its files.
func (s *suite) removed(b *box) {
	b.t.Helper()
	if err := s.manager.Remove(bounded(b.t), b.Identity(), false); err != nil {
		b.t.Fatal(err)
	}
}

func endedUnderCommand(t *testing.T, s *suite) {
	b := s.box(t)
	c := converse()
	done := b.beside(sandbox.Command{Line: "echo ready; sleep 300", Stdout: c})
	c.hears(t, "ready")
	s.removed(b)
	if o := (<-done).ended(-1, sandbox.Lost); o.Message == "" {
		t.Error("nothing says why")
	}
}

func recreated(t *testing.T, s *suite) {
	b := s.box(t, func(spec *sandbox.Spec) { spec.Env = map[string]string{"FROM_SPEC": "x"} })
	b.output("echo kept >/workspace/file")
	me := b.output(whoami)
	s.removed(b)
	o := b.line("cat /workspace/file; echo $FROM_SPEC; "+whoami).ended(0, sandbox.Exited)
	if other, ok := strings.CutPrefix(o.Out, "kept\nx\n"); !ok || other == me+"\n" {
		t.Errorf("it says %q, and was %s before", o.Out, me)
	}
	if !o.Recreated {
		t.Error("the result does not say that the sandbox was made anew")
	}
	if o := b.line("true"); o.Recreated {
		t.Error("it is said twice")
	}
}

func lostIsNotRepeated(t *testing.T, s *suite) {
	b := s.box(t)
	command := sandbox.Command{Line: "echo ran >>/workspace/ran; echo ready; sleep 300", ID: "once"}
	c := converse()
	first := command
	first.Stdout = c
	done := b.beside(first)
	c.hears(t, "ready")
	s.removed(b)
	(<-done).ended(-1, sandbox.Lost)
	for range 2 {
		b.run(command).ended(-1, sandbox.Lost).printed("")
	}
	b.says("cat /workspace/ran", "ran")
}

// Whoever attaches does not know the values of the spec's variables, and cannot
// make the same sandbox.
func attachedIsNotRecreated(t *testing.T, s *suite) {
	owner := s.box(t, func(spec *sandbox.Spec) { spec.Env = map[string]string{"FROM_SPEC": "x"} })
	attached, err := s.another(t, s.engine).Attach(bounded(t), owner.Identity())
	if err != nil {
		t.Fatal(err)
	}
	b := s.hold(t, attached, s.spec())
	b.says("echo $FROM_SPEC", "x")
	s.removed(owner)
	if _, err := b.Exec(bounded(t), sandbox.Command{Line: "true"}); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("the error is %v", err)
	}
	if !s.gone(t, owner.Identity()) {
		t.Error("a sandbox was made")
	}
	owner.says("echo $FROM_SPEC", "x")
	b.says("echo $FROM_SPEC", "x")
}

func killedCaller(t *testing.T, s *suite) {
	b := s.box(t)
	other := s.elsewhere(t, errand{Identity: b.Identity(), Spec: s.spec(), Line: tree + "echo ready; wait"})
	other.reads("ready\n")
	other.kill()
	b.empties()
}

func detachedGoesOn(t *testing.T, s *suite) {
	b := s.box(t)
	other := s.elsewhere(t, errand{Identity: b.Identity(), Spec: s.spec(), Detached: true,
		Line: "echo ready; until [ -e /tmp/go ]; do sleep 0.02; done; echo still here; : >/tmp/done"})
	other.reads("ready\n")
	other.kill()
	b.output(": >/tmp/go")
	b.until("[ -e /tmp/done ]")
}

func brokenUnnoticed(t *testing.T, s *suite) {
	f := &fragile{Engine: s.engine}
	b := s.ensure(t, s.another(t, f), s.identity(t), s.spec())
	session := b.Session("s")
	b.session("s").output("cd /usr")
	for range 20 {
		f.cut()
		b.status()
		f.cut()
		if state, err := session.State(bounded(t)); err != nil || state.Cwd != "/usr" {
			t.Fatalf("the session is %+v, %v", state, err)
		}
	}
}

func brokenLine(t *testing.T, s *suite) {
	f := &fragile{Engine: s.engine}
	b := s.ensure(t, s.another(t, f), s.identity(t), s.spec())
	c := converse()
	done := b.beside(sandbox.Command{Line: "echo ran >>/tmp/ran; echo ready; until [ -e /tmp/go ]; do sleep 0.02; done; echo end", Stdout: c})
	c.hears(t, "ready")
	f.cut()
	s.ensure(t, s.another(t, s.engine), b.Identity(), s.spec()).output(": >/tmp/go")
	// The caller is back at once. Either that was soon enough, or the command
	// had been ended for want of one, and then the result says so.
	switch o := <-done; o.Reason {
	case sandbox.Exited:
		c.hears(t, "end\n")
	case sandbox.Lost:
	default:
		t.Errorf("ended with %d (%s)", o.Code, o.Reason)
	}
	b.says("cat /tmp/ran", "ran")
	b.empties()
}
