package enginetest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

var streamTests = []test{
	{"streams/input arrives", inputArrives},
	{"streams/without input a reader sees the end", noInput},
	{"streams/input streams while the command runs", inputStreams},
	{"streams/eight megabytes come back from cat", inputIsLarge},
	{"streams/input that nobody reads holds nothing up", inputUnread},
	{"streams/output and error output are apart", streamsApart},
	{"streams/merged streams keep their order", streamsMerged},
	{"streams/binary output is exact", outputIsExact},
	{"streams/a large output is exact", outputIsLarge},
	{"streams/a background child does not hold the result back", backgroundChild},
	{"streams/a background child outlives its output", backgroundWriter},
	{"streams/what was written before the end is there", outputIsDrained},
	{"streams/a command may close its descriptors", closedDescriptors},
	{"streams/a caller that stops listening ends the command", deafCaller},
	{"streams/a slow caller loses nothing", slowCaller},
}

func inputArrives(t *testing.T, s *suite) {
	b := s.box(t)
	for _, p := range []place{b.place, b.session("s")} {
		p.run(sandbox.Command{Line: "cat", Stdin: strings.NewReader("x")}).ended(0, sandbox.Exited).printed("x")
		p.run(sandbox.Command{Argv: []string{"cat"}, Stdin: strings.NewReader("x\n")}).printed("x\n")
		p.run(sandbox.Command{Line: "cat", Stdin: strings.NewReader("")}).ended(0, sandbox.Exited).printed("")
	}
}

func noInput(t *testing.T, s *suite) {
	b := s.box(t)
	for _, p := range []place{b.place, b.session("s")} {
		p.line("cat; echo $?").ended(0, sandbox.Exited).printed("0\n")
	}
}

// conversation passes on what it is given as input and tells of each write.
type conversation struct {
	io.Reader
	input *io.PipeWriter
	heard chan string
}

func converse() *conversation {
	r, w := io.Pipe()
	return &conversation{r, w, make(chan string, 100)}
}

func (c *conversation) Write(p []byte) (int, error) {
	c.heard <- string(p)
	return len(p), nil
}

// hears waits until the output has brought text.
func (c *conversation) hears(t *testing.T, text string) string {
	t.Helper()
	stuck := bounded(t).Done()
	var all strings.Builder
	for !strings.Contains(all.String(), text) {
		select {
		case more := <-c.heard:
			all.WriteString(more)
		case <-stuck:
			t.Fatalf("heard %q and never %q", all.String(), text)
		}
	}
	return all.String()
}

func inputStreams(t *testing.T, s *suite) {
	b := s.box(t)
	c := converse()
	done := b.beside(sandbox.Command{Line: "while read -r line; do echo got $line; done; echo end", Stdin: c, Stdout: c})
	for i := range 5 {
		fmt.Fprintln(c.input, i)
		c.hears(t, fmt.Sprintf("got %d\n", i))
	}
	c.input.Close()
	c.hears(t, "end\n")
	(<-done).ended(0, sandbox.Exited)
}

// noise is random but the same for the same size.
func noise(n int) []byte {
	p := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(p)
	return p
}

func inputIsLarge(t *testing.T, s *suite) {
	b := s.box(t)
	data := noise(8 << 20)
	for _, p := range []place{b.place, b.session("s")} {
		o := p.run(sandbox.Command{Line: "cat", Stdin: bytes.NewReader(data)}).ended(0, sandbox.Exited)
		if o.Out != string(data) {
			t.Errorf("%d bytes came back of %d, or others", len(o.Out), len(data))
		}
	}
}

func inputUnread(t *testing.T, s *suite) {
	b := s.box(t)
	endless := io.MultiReader(bytes.NewReader(noise(1<<20)), neverReader{})
	b.run(sandbox.Command{Line: "exit 3", Stdin: endless}).ended(3, sandbox.Exited).printed("")
	b.run(sandbox.Command{Line: "head -c 5", Stdin: strings.NewReader("12345678")}).ended(0, sandbox.Exited).printed("12345")
	b.run(sandbox.Command{Line: "exec <&-; echo closed", Stdin: bytes.NewReader(noise(1 << 20))}).ended(0, sandbox.Exited).printed("closed\n")
}

// neverReader is a terminal at which nobody types.
type neverReader struct{}

func (neverReader) Read([]byte) (int, error) { select {} }

func streamsApart(t *testing.T, s *suite) {
	b := s.box(t)
	for _, p := range []place{b.place, b.session("s")} {
		o := p.split(sandbox.Command{Line: "echo out; echo err >&2; echo more"}).ended(0, sandbox.Exited).printed("out\nmore\n")
		if o.Err != "err\n" {
			t.Errorf("the error output is %q", o.Err)
		}
	}
}

func streamsMerged(t *testing.T, s *suite) {
	b := s.box(t)
	var want strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&want, "o%d\ne%d\n", i, i)
	}
	for _, p := range []place{b.place, b.session("s")} {
		p.line("i=0; while [ $i -lt 2000 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done").printed(want.String())
	}
}

func outputIsExact(t *testing.T, s *suite) {
	b := s.box(t)
	var every [256]byte
	for i := range every {
		every[i] = byte(i)
	}
	text := string(every[:]) + "\r\n\x00\x00\n\xff\xfe" + "\x1b[31m" + "ü"
	o := b.split(sandbox.Command{Line: "tee /dev/stderr", Stdin: strings.NewReader(text)}).ended(0, sandbox.Exited).printed(text)
	if o.Err != text {
		t.Errorf("the error output is %q", o.Err)
	}
}

func outputIsLarge(t *testing.T, s *suite) {
	b := s.box(t)
	block := noise(1 << 20)
	b.run(sandbox.Command{Line: "cat >/tmp/block", Stdin: bytes.NewReader(block)}).ended(0, sandbox.Exited)
	sum := sha256.New()
	b.run(sandbox.Command{Line: "for i in $(seq 100); do cat /tmp/block; done", Stdout: sum}).ended(0, sandbox.Exited)
	want := sha256.New()
	for range 100 {
		want.Write(block)
	}
	if !bytes.Equal(sum.Sum(nil), want.Sum(nil)) {
		t.Error("100 MB came back changed")
	}
}

func backgroundChild(t *testing.T, s *suite) {
	b := s.box(t)
	for _, p := range []place{b.place, b.session("s")} {
		// The child holds both streams open for longer than any test may take.
		if o := p.line("sleep 1000 & echo $!").ended(0, sandbox.Exited); o.Duration > hang/3 {
			t.Errorf("the result came after %s", o.Duration)
		} else {
			p.output("kill -0 " + strings.TrimSpace(o.Out))
		}
	}
	if st := b.status(); st.Commands != 0 || st.Processes != 2 {
		t.Errorf("%d commands and %d processes, not 0 and 2", st.Commands, st.Processes)
	}
}

func backgroundWriter(t *testing.T, s *suite) {
	b := s.box(t)
	// Written long after the result, and more than a pipe holds: a pipe that
	// nobody reads would stop the child, a closed one would kill it.
	b.line("(until [ -e /tmp/go ]; do sleep 0.02; done; head -c 2000000 /dev/zero && echo fine >/tmp/wrote) & echo early").
		ended(0, sandbox.Exited).printed("early\n")
	b.output(": >/tmp/go")
	b.until("[ -s /tmp/wrote ]")
}

func outputIsDrained(t *testing.T, s *suite) {
	b := s.box(t)
	for range 20 {
		// The last bytes are in the pipe when the shell is already gone, and a
		// child holds it open.
		o := b.line("sleep 1000 & head -c 200000 /dev/zero | tr '\\0' x; echo; echo last")
		if len(o.Out) != 200_006 || !strings.HasSuffix(o.Out, "x\nlast\n") {
			t.Fatalf("%d bytes, the last are %q", len(o.Out), o.Out[max(0, len(o.Out)-10):])
		}
		b.output("kill $(pidof sleep)")
	}
}

func closedDescriptors(t *testing.T, s *suite) {
	b := s.box(t)
	for _, p := range []place{b.place, b.session("s")} {
		p.line("echo before; exec >&- 2>&- <&-; sleep 0.1; exit 4").ended(4, sandbox.Exited).printed("before\n")
		p.split(sandbox.Command{Line: "exec >&-; echo lost 2>/dev/null; exit 5"}).ended(5, sandbox.Exited).printed("")
	}
}

// brokenWriter is a pipe whose reader has gone.
type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func deafCaller(t *testing.T, s *suite) {
	b := s.box(t)
	broken := errors.New("broken pipe")
	ctx := bounded(t)
	result, err := b.Exec(ctx, sandbox.Command{Line: "while :; do echo y; done", Stdout: brokenWriter{broken}})
	if !errors.Is(err, broken) || result.Reason != sandbox.Interrupted || ctx.Err() != nil {
		t.Errorf("result %+v, error %v, %v", result, err, ctx.Err())
	}
	b.empties()
}

// slowWriter takes what it is given only when it may.
type slowWriter struct {
	bytes.Buffer
	may chan struct{}
}

func (w *slowWriter) Write(p []byte) (int, error) {
	<-w.may
	return w.Buffer.Write(p)
}

func slowCaller(t *testing.T, s *suite) {
	b := s.box(t)
	data := noise(3 << 20)
	b.run(sandbox.Command{Line: "cat >/tmp/data", Stdin: bytes.NewReader(data)}).ended(0, sandbox.Exited)
	w := &slowWriter{may: make(chan struct{})}
	// The window is smaller than the output, and still nothing is missed: the
	// command waits for a caller that is there.
	done := b.beside(sandbox.Command{Line: "cat /tmp/data; : >/tmp/done", Stdout: w, Window: 64 << 10})
	w.may <- struct{}{}
	other := b.line("sleep 1; [ -e /tmp/done ]") // long enough to run ahead, if it did
	if other.Code != 1 {
		t.Error("the command did not wait for its caller")
	}
	close(w.may)
	if o := (<-done).ended(0, sandbox.Exited); o.Missed != 0 || !bytes.Equal(w.Bytes(), data) {
		t.Errorf("%d bytes arrived and %d are missed, of %d", w.Len(), o.Missed, len(data))
	}
}
