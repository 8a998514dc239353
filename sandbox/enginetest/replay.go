package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"hermes.example/hermes/sandbox"
)

var replayTests = []test{
	{"replay/an id runs once and answers always the same", idRunsOnce},
	{"replay/an id asked for at once runs once", idAtOnce},
	{"replay/an id runs once across processes", idAcrossProcesses},
	{"replay/a caller that is cut off goes on where it was", cutOffGoesOn},
	{"replay/a caller that gave up its hold comes back by the id", heldAgain},
	{"replay/a caller that was killed is followed by another", killedIsFollowed},
	{"replay/what is no longer kept is counted", gapIsCounted},
	{"replay/input goes on after a cut", inputAfterCut},
}

func idRunsOnce(t *testing.T, s *suite) {
	b := s.box(t)
	for _, p := range []place{b.place, b.session("s")} {
		c := sandbox.Command{Line: "echo ran >>ran; echo out; echo err >&2; exit 3", ID: fmt.Sprintf("once-%p", p.exec)}
		for range 3 {
			o := p.split(c).ended(3, sandbox.Exited).printed("out\n")
			if o.Err != "err\n" || o.ID != c.ID || o.Missed != 0 {
				t.Errorf("the error output is %q in %+v", o.Err, o.Result)
			}
		}
		b.says("cat ran; rm ran", "ran")
	}
	// Also one that could not be started is not tried again.
	c := sandbox.Command{Argv: []string{"/tmp/later"}, ID: "later"}
	b.run(c).ended(127, sandbox.NotStarted)
	b.output("cp /bin/true /tmp/later")
	b.run(c).ended(127, sandbox.NotStarted)
	c.ID = "even later"
	b.run(c).ended(0, sandbox.Exited)
}

func idAtOnce(t *testing.T, s *suite) {
	b := s.box(t)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			b.run(sandbox.Command{Line: "echo ran >>ran; sleep 0.2; cat ran; exit 3", ID: "once"}).ended(3, sandbox.Exited).printed("ran\n")
		})
	}
	all.Wait()
	b.says("cat ran", "ran")
}

func idAcrossProcesses(t *testing.T, s *suite) {
	b := s.box(t)
	e := errand{Identity: b.Identity(), Spec: s.spec(), Line: "echo ran >>ran; cat ran; exit 3", ID: "once"}
	for range 2 {
		if result, out := s.elsewhere(t, e).done(); result.Code != 3 || out != "ran\n" {
			t.Errorf("the other process has %+v and %q", result, out)
		}
	}
	b.run(sandbox.Command{Line: e.Line, ID: "once"}).ended(3, sandbox.Exited).printed("ran\n")
}

// fragile is an engine whose connections a test can cut.
type fragile struct {
	sandbox.Engine
	mu    sync.Mutex
	lines []io.Closer
}

func (f *fragile) Connect(ctx context.Context, id sandbox.Identity) (io.ReadWriteCloser, error) {
	line, err := f.Engine.Connect(ctx, id)
	if err == nil {
		f.mu.Lock()
		f.lines = append(f.lines, line)
		f.mu.Unlock()
	}
	return line, err
}

func (f *fragile) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, line := range f.lines {
		line.Close()
	}
	f.lines = nil
}

// cutter cuts the line now and then while it takes output.
type cutter struct {
	bytes.Buffer
	f     *fragile
	every int
	cuts  int
}

func (c *cutter) Write(p []byte) (int, error) {
	n, err := c.Buffer.Write(p)
	if c.Len() > (c.cuts+1)*c.every {
		c.cuts++
		c.f.cut()
	}
	return n, err
}

func cutOffGoesOn(t *testing.T, s *suite) {
	f := &fragile{Engine: s.engine}
	b := s.ensure(t, s.another(t, f), s.identity(t), s.spec())
	data := noise(4 << 20)
	b.run(sandbox.Command{Line: "cat >/tmp/data", Stdin: bytes.NewReader(data)}).ended(0, sandbox.Exited)
	for _, p := range []place{b.place, b.session("s")} {
		out, errs := &cutter{f: f, every: 500_000}, &cutter{f: f, every: 700_000}
		o := p.run(sandbox.Command{Line: "tee /dev/stderr </tmp/data; echo ran >>/tmp/ran; exit 9", Stdout: out, Stderr: errs, Detached: true}).ended(9, sandbox.Exited)
		if out.cuts < 5 || errs.cuts < 3 {
			t.Errorf("the line was cut only %d and %d times", out.cuts, errs.cuts)
		}
		if o.Missed != 0 || !bytes.Equal(out.Bytes(), data) || !bytes.Equal(errs.Bytes(), data) {
			t.Errorf("%d and %d bytes arrived and %d are missed, of %d", out.Len(), errs.Len(), o.Missed, len(data))
		}
	}
	b.says("cat /tmp/ran", "ran\nran")
}

func heldAgain(t *testing.T, s *suite) {
	id := s.identity(t)
	b := s.ensure(t, s.manager, id, s.spec())
	c := converse()
	command := sandbox.Command{Line: "seq 1000; until [ -e /tmp/go ]; do sleep 0.02; done; seq 1001 2000; exit 4", ID: "long", Detached: true}
	left := beside(t, func() error {
		command := command
		command.Stdout = c
		_, err := b.exec(bounded(t), command)
		return err
	})
	c.hears(t, "1000\n")
	b.Close()
	if err := <-left; !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("the command of a closed hold ends with %v", err)
	}
	if _, err := b.Exec(bounded(t), sandbox.Command{Line: "true"}); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("a closed hold runs commands: %v", err)
	}
	again := s.ensure(t, s.manager, id, s.spec())
	if st := again.status(); st.Commands != 1 {
		t.Errorf("%d commands run, not the detached one", st.Commands)
	}
	again.output(": >/tmp/go")
	again.run(command).ended(4, sandbox.Exited).printed(numbers(1, 2000))
}

func numbers(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

func killedIsFollowed(t *testing.T, s *suite) {
	b := s.box(t)
	e := errand{Identity: b.Identity(), Spec: s.spec(), ID: "long", Detached: true,
		Line: "echo ran >>/tmp/ran; seq 100; until [ -e /tmp/go ]; do sleep 0.02; done; seq 101 200; exit 4"}
	other := s.elsewhere(t, e)
	other.reads(numbers(1, 100))
	other.kill()
	b.output(": >/tmp/go")
	b.run(sandbox.Command{Line: e.Line, ID: e.ID}).ended(4, sandbox.Exited).printed(numbers(1, 200))
	b.says("cat /tmp/ran", "ran")
}

func gapIsCounted(t *testing.T, s *suite) {
	b := s.box(t)
	const window = 64 << 10
	data := noise(1 << 20)
	b.run(sandbox.Command{Line: "cat >/tmp/data", Stdin: bytes.NewReader(data)}).ended(0, sandbox.Exited)
	e := errand{Identity: b.Identity(), Spec: s.spec(), ID: "long", Detached: true, Window: window,
		Line: "echo ready; until [ -e /tmp/go ]; do sleep 0.02; done; cat /tmp/data; : >/tmp/done; exit 4"}
	other := s.elsewhere(t, e)
	other.reads("ready\n")
	other.kill()
	// Without a caller the command must not wait for one.
	b.output(": >/tmp/go")
	b.until("[ -e /tmp/done ]")
	for range 2 {
		o := b.run(sandbox.Command{Line: e.Line, ID: e.ID}).ended(4, sandbox.Exited)
		if want := int64(len("ready\n") + len(data) - window); o.Missed != want {
			t.Errorf("%d bytes are missed, not %d", o.Missed, want)
		}
		if o.Out != string(data[len(data)-window:]) {
			t.Errorf("the %d bytes that arrived are not the last %d", len(o.Out), window)
		}
	}
}

func inputAfterCut(t *testing.T, s *suite) {
	f := &fragile{Engine: s.engine}
	b := s.ensure(t, s.another(t, f), s.identity(t), s.spec())
	c := converse()
	done := b.beside(sandbox.Command{Line: "while read -r line; do echo got $line; done", Stdin: c, Stdout: c, Detached: true})
	for i := range 4 {
		fmt.Fprintln(c.input, i)
		c.hears(t, fmt.Sprintf("got %d\n", i))
		f.cut()
	}
	c.input.Close()
	(<-done).ended(0, sandbox.Exited)
}
