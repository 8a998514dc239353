package enginetest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

var followTests = []test{
	{"follow/a command is followed by its id from where the caller is", followedFrom},
	{"follow/who leaves a detached command lets it go on", leftGoesOn},
	{"follow/who stops following leaves the command alone", unfollowed},
	{"follow/an id that nobody gave is not found", followUnknown},
	{"follow/an interrupt by the id ends the whole tree", interruptedByID},
	{"follow/an id is not for two commands", idReused},
	{"follow/input goes to a command that is followed", followedInput},
	{"follow/a gap is told in its place", gapInPlace},
}

func followedFrom(t *testing.T, s *suite) {
	b := s.box(t)
	b.split(sandbox.Command{Line: "seq 1000; seq 2000 >&2; exit 5", ID: "numbers", Detached: true}).ended(5, sandbox.Exited)
	stdout, stderr := numbers(1, 1000), numbers(1, 2000)
	for _, from := range []sandbox.Offsets{{}, {Stdout: 1}, {Stderr: 17}, {Stdout: 777, Stderr: 888}, {Stdout: int64(len(stdout)), Stderr: int64(len(stderr))}} {
		var out, errs strings.Builder
		known := false
		result, err := b.Follow(bounded(t), "numbers", sandbox.Following{Stdout: &out, Stderr: &errs, From: from, Started: func(k bool) { known = k }})
		if err != nil || result.Code != 5 || result.ID != "numbers" || !known {
			t.Fatalf("from %v: %+v, known %t, %v", from, result, known, err)
		}
		if out.String() != stdout[from.Stdout:] || errs.String() != stderr[from.Stderr:] {
			t.Errorf("from %v: %d and %d bytes", from, out.Len(), errs.Len())
		}
	}
	if _, err := b.Follow(bounded(t), "numbers", sandbox.Following{From: sandbox.Offsets{Stdout: -1}}); err == nil {
		t.Error("a negative offset is taken")
	}
}

func leftGoesOn(t *testing.T, s *suite) {
	b := s.box(t)
	for _, p := range []place{b.place, b.session("s")} {
		id := "left-" + strings.TrimPrefix(p.output("echo $$"), "0")
		c := converse()
		ctx, leave := context.WithCancel(bounded(t))
		defer leave()
		left := beside(t, func() error {
			_, err := p.exec(ctx, sandbox.Command{Line: "seq 1000; until [ -e go ]; do sleep 0.02; done; seq 1001 2000; exit 4", ID: id, Detached: true, Leave: true, Stdout: c})
			return err
		})
		c.hears(t, "1000\n")
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("who left got %v", err)
		}
		b.output(": >go")
		have := int64(len(numbers(1, 1000)))
		var out bytes.Buffer
		result, err := b.Follow(bounded(t), id, sandbox.Following{Stdout: &out, From: sandbox.Offsets{Stdout: have}})
		if err != nil || result.Code != 4 || out.String() != numbers(1001, 2000) {
			t.Errorf("the rest: %+v, %v, %d bytes", result, err, out.Len())
		}
		b.output("rm go")
	}
}

func unfollowed(t *testing.T, s *suite) {
	b := s.box(t)
	c := converse()
	ended := b.beside(sandbox.Command{Line: "echo ready; until [ -e go ]; do sleep 0.02; done; exit 6", ID: "own", Stdout: c})
	c.hears(t, "ready\n")
	ctx, leave := context.WithCancel(bounded(t))
	heard := converse()
	left := beside(t, func() error {
		_, err := b.Follow(ctx, "own", sandbox.Following{Stdout: heard})
		return err
	})
	heard.hears(t, "ready\n")
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who left got %v", err)
	}
	b.output(": >go")
	o := <-ended
	o.ended(6, sandbox.Exited)
}

func followUnknown(t *testing.T, s *suite) {
	b := s.box(t)
	if _, err := b.Follow(bounded(t), "nobody", sandbox.Following{}); !errors.Is(err, sandbox.ErrNoCommand) {
		t.Errorf("to follow it: %v", err)
	}
	if err := b.Interrupt(bounded(t), "nobody"); !errors.Is(err, sandbox.ErrNoCommand) {
		t.Errorf("to interrupt it: %v", err)
	}
}

func interruptedByID(t *testing.T, s *suite) {
	b := s.box(t)
	c := converse()
	ended := b.beside(sandbox.Command{Line: "sleep 1000 & sleep 1001 & echo ready; wait", ID: "tree", Detached: true, Stdout: c})
	c.hears(t, "ready\n")
	if err := b.Interrupt(bounded(t), "tree"); err != nil {
		t.Fatal(err)
	}
	o := <-ended
	o.ended(130, sandbox.Interrupted)
	if st := b.status(); st.Processes != 0 || st.Commands != 0 {
		t.Errorf("%d processes and %d commands are left", st.Processes, st.Commands)
	}
	if err := b.Interrupt(bounded(t), "tree"); err != nil {
		t.Errorf("a command that has ended cannot be interrupted: %v", err)
	}
}

func idReused(t *testing.T, s *suite) {
	b := s.box(t)
	first := sandbox.Command{Line: "echo ran >>ran; echo first", ID: "once", Asked: "first"}
	b.run(first).ended(0, sandbox.Exited).printed("first\n")
	other := sandbox.Command{Line: "echo ran >>ran; echo other", ID: "once", Asked: "other"}
	if _, err := b.Exec(bounded(t), other); !errors.Is(err, sandbox.ErrIDReused) {
		t.Errorf("another command under the id: %v", err)
	}
	b.run(first).ended(0, sandbox.Exited).printed("first\n")
	other.Asked = ""
	b.run(other).ended(0, sandbox.Exited).printed("first\n")
	b.says("cat ran", "ran")
}

func followedInput(t *testing.T, s *suite) {
	b := s.box(t)
	c := converse()
	ctx, leave := context.WithCancel(bounded(t))
	defer leave()
	left := beside(t, func() error {
		_, err := b.Exec(ctx, sandbox.Command{Line: "echo ready; cat", ID: "talk", Detached: true, Leave: true, Stdin: c, Stdout: c})
		return err
	})
	c.hears(t, "ready\n")
	leave()
	<-left
	var out bytes.Buffer
	result, err := b.Follow(bounded(t), "talk", sandbox.Following{Stdout: &out, Stdin: strings.NewReader("later\n"), From: sandbox.Offsets{Stdout: 6}})
	if err != nil || result.Code != 0 || out.String() != "later\n" {
		t.Errorf("%+v, %v, %q", result, err, out.String())
	}
}

func gapInPlace(t *testing.T, s *suite) {
	b := s.box(t)
	const window, all = 64 << 10, 1 << 20
	c := converse()
	ctx, leave := context.WithCancel(bounded(t))
	defer leave()
	left := beside(t, func() error {
		_, err := b.Exec(ctx, sandbox.Command{Line: "echo ready; until [ -e go ]; do sleep 0.02; done; head -c 1048576 /dev/zero; : >done",
			ID: "much", Detached: true, Leave: true, Window: window, Stdout: c})
		return err
	})
	c.hears(t, "ready\n")
	leave()
	<-left
	b.output(": >go")
	b.until("[ -e done ]")
	var out bytes.Buffer
	var gap, before int64
	result, err := b.Follow(bounded(t), "much", sandbox.Following{Stdout: &out, From: sandbox.Offsets{Stdout: 6}, Gap: func(stderr bool, n int64) {
		if stderr {
			t.Error("of the wrong stream")
		}
		gap, before = gap+n, int64(out.Len())
	}})
	if err != nil || gap != all-window || before != 0 || out.Len() != window || result.Missed != gap {
		t.Errorf("%d bytes are missing after %d, %d came: %+v, %v", gap, before, out.Len(), result, err)
	}
}
