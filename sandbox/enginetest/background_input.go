package enginetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

var backgroundInputTests = []test{
	{"background/input is taken until it is closed", backgroundInput},
	{"background/input that nobody reads is not said to be taken", inputNotTaken},
}

func backgroundInput(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.start(sandbox.Background{Command: sandbox.Command{Line: "while read -r line; do echo got $line; done; echo end"}, Input: true})
	for _, text := range []string{"one\n", "two\nthr", "ee\n"} {
		if n, err := p.Write(bounded(t), []byte(text)); n != len(text) || err != nil {
			t.Fatalf("%d of %q: %v", n, text, err)
		}
	}
	p.says("got three\n")
	if err := p.CloseInput(bounded(t)); err != nil {
		t.Fatal(err)
	}
	p.wait(0, sandbox.Exited)
	if log := p.log(); log != "got one\ngot two\ngot three\nend\n" {
		t.Errorf("the log is %q", log)
	}
	if _, err := p.Write(bounded(t), []byte("x")); !errors.Is(err, sandbox.ErrRefused) {
		t.Errorf("input for one that has ended: %v", err)
	}
	// Without input it reads the end, and takes none.
	without := b.startLine("cat; echo end")
	without.wait(0, sandbox.Exited)
	if _, err := b.startLine("sleep 300").Write(bounded(t), []byte("x")); !errors.Is(err, sandbox.ErrRefused) {
		t.Errorf("input for one without any: %v", err)
	}
	for what, err := range map[string]error{
		"input":    second(b.Process("proc_000000000000").Write(bounded(t), []byte("x"))),
		"a look":   second(b.Process("proc_000000000000").Poll(bounded(t))),
		"a signal": b.Process("proc_000000000000").Signal(bounded(t), 15),
	} {
		if !errors.Is(err, sandbox.ErrNoProcess) || errors.Is(err, sandbox.ErrNotFound) {
			t.Errorf("%s for one that there is not: %v", what, err)
		}
	}
	// A large input, byte for byte.
	data := noise(3 << 20)
	large := b.start(sandbox.Background{Command: sandbox.Command{Line: "cat >/tmp/data"}, Input: true})
	if n, err := large.Write(bounded(t), data); n != len(data) || err != nil {
		t.Fatalf("%d of %d bytes: %v", n, len(data), err)
	}
	if err := large.CloseInput(bounded(t)); err != nil {
		t.Fatal(err)
	}
	large.wait(0, sandbox.Exited)
	b.run(sandbox.Command{Line: "cat /tmp/data"}).printed(string(data))
}

func inputNotTaken(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.start(sandbox.Background{Command: sandbox.Command{Line: "until [ -e /tmp/go ]; do sleep 0.02; done; wc -c"}, Input: true})
	data := noise(1 << 20)
	written := beside(t, func() int {
		n, err := p.Write(bounded(t), data)
		if err != nil {
			t.Error(err)
		}
		return n
	})
	select {
	case n := <-written:
		t.Fatalf("%d bytes were said to be taken that nobody reads", n)
	case <-time.After(time.Second):
	}
	b.output(": >/tmp/go")
	if n := <-written; n != len(data) {
		t.Errorf("%d of %d bytes were taken", n, len(data))
	}
	if err := p.CloseInput(bounded(t)); err != nil {
		t.Fatal(err)
	}
	p.wait(0, sandbox.Exited)
	if log := strings.TrimSpace(p.log()); log != fmt.Sprint(len(data)) {
		t.Errorf("it read %s bytes", log)
	}
}

func second[T any](_ T, err error) error { return err }
