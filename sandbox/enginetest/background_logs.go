package enginetest

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"hermes.example/hermes/sandbox"
)

var backgroundLogTests = []test{
	{"background/its log has both streams in order", logInOrder},
	{"background/its log can be read in parts", logInParts},
	{"background/D24 a log of 200 MB is bounded and its offsets stay", logIsBounded},
	{"background/readers that follow a log get all of it or the gap", logFollowed},
	{"background/a reader that is cut off goes on where it was", logCutOff},
	{"background/children that go on are in the log", logOfChildren},
	{"background/D24 nothing inside finds the logs", logOutOfReach},
}

func logInOrder(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.startLine("for i in $(seq 500); do echo out $i; echo err $i >&2; done; printf '\\0\\377'")
	p.wait(0, sandbox.Exited)
	var want strings.Builder
	for i := 1; i <= 500; i++ {
		fmt.Fprintf(&want, "out %d\nerr %d\n", i, i)
	}
	want.WriteString("\x00\xff")
	if log := p.log(); log != want.String() {
		t.Errorf("the log is %.200q…", log)
	}
	silent := b.startLine("true")
	silent.wait(0, sandbox.Exited)
	if log := silent.log(); log != "" {
		t.Errorf("the log is %q", log)
	}
}

func logInParts(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.startLine("seq 1 1000; until [ -e /tmp/go ]; do sleep 0.02; done; echo more")
	p.says("\n1000\n")
	whole := numbers(1, 1000)
	for _, c := range []struct {
		options sandbox.LogOptions
		want    string
	}{
		{sandbox.LogOptions{}, whole},
		{sandbox.LogOptions{Offset: 5}, whole[5:]},
		{sandbox.LogOptions{Offset: -10}, whole[len(whole)-10:]},
		{sandbox.LogOptions{Offset: -1 << 40}, whole},
		{sandbox.LogOptions{Offset: 1 << 40}, ""},
		{sandbox.LogOptions{Lines: 2}, "999\n1000\n"},
		{sandbox.LogOptions{Lines: 1 << 30}, whole},
	} {
		var out strings.Builder
		next := int64(-1)
		c.options.At = func(offset int64) {
			if next >= 0 && offset != next+int64(out.Len()) {
				t.Errorf("%+v: the write after %d bytes is said to begin at %d", c.options, out.Len(), offset)
			}
			if next < 0 {
				next = offset
			}
		}
		part, err := p.Logs(bounded(t), c.options, &out)
		if next >= 0 && next != part.Offset {
			t.Errorf("%+v: the first write is said to begin at %d, and the part at %d", c.options, next, part.Offset)
		}
		if err != nil || out.String() != c.want || part.Next != int64(len(whole)) || part.Missed != 0 || part.Process.State != sandbox.ProcessRunning {
			t.Errorf("%+v: %d bytes, not %d: %+v %v", c.options, out.Len(), len(c.want), part, err)
		}
	}
	b.output(": >/tmp/go")
	p.wait(0, sandbox.Exited)
	var out strings.Builder
	part, err := p.Logs(bounded(t), sandbox.LogOptions{Offset: int64(len(whole))}, &out)
	if err != nil || out.String() != "more\n" || part.Process.State != sandbox.ProcessExited {
		t.Errorf("what came since is %q: %+v %v", out.String(), part, err)
	}
}

// counting is a line that writes the numbers up to n, and how many bytes these are.
func counting(n int) (line string, size int64) {
	for digits, low := 1, 1; low <= n; digits, low = digits+1, low*10 {
		size += int64(min(low*10, n+1)-low) * int64(digits+1)
	}
	return fmt.Sprint("seq 1 ", n), size
}

func logIsBounded(t *testing.T, s *suite) {
	b := s.box(t)
	const window, last = 1 << 20, 24_000_000
	line, size := counting(last)
	p := b.start(sandbox.Background{Command: sandbox.Command{Line: line, Window: window}})
	p.wait(0, sandbox.Exited)
	info := p.poll()
	if kept := info.LogEnd - info.LogStart; info.LogEnd != size || kept > window || kept < window/2 {
		t.Errorf("of %d bytes those from %d to %d are kept", size, info.LogStart, info.LogEnd)
	}
	var out bytes.Buffer
	part, err := p.Logs(bounded(t), sandbox.LogOptions{}, &out)
	if err != nil || part.Missed != info.LogStart || part.Next != info.LogEnd {
		t.Errorf("read were %+v %v", part, err)
	}
	_, rest, _ := strings.Cut(out.String(), "\n") // the first line may be cut
	first := 0
	fmt.Sscan(rest, &first)
	if first < last-window || rest != numbers(first, last) {
		t.Errorf("what is kept from %d on is not the end of the output", first)
	}
	if status := b.status(); status.Commands != 0 {
		t.Errorf("%d commands run", status.Commands)
	}
}

// total counts bytes and keeps the last of them.
type total struct {
	bytes int64
	last  []byte
	each  func()
}

func (w *total) Write(p []byte) (int, error) {
	w.bytes += int64(len(p))
	w.last = append(w.last, p...)
	w.last = w.last[max(0, len(w.last)-1000):]
	if w.each != nil {
		w.each()
	}
	return len(p), nil
}

func logFollowed(t *testing.T, s *suite) {
	b := s.box(t)
	const last = 3_000_000 // many times what is kept
	line, size := counting(last)
	p := b.start(sandbox.Background{Command: sandbox.Command{Line: "until [ -e /tmp/go ]; do sleep 0.02; done; " + line, Window: 256 << 10}})
	var readers sync.WaitGroup
	t.Cleanup(readers.Wait)
	for i := range 2 {
		readers.Go(func() {
			var out total
			part, err := p.Logs(bounded(t), sandbox.LogOptions{Follow: true}, &out)
			if err != nil || part.Next != size || out.bytes+part.Missed != size || part.Process.State != sandbox.ProcessExited {
				t.Errorf("reader %d has %d bytes: %+v %v", i, out.bytes, part, err)
			}
			if want := numbers(last-200, last); !strings.HasSuffix(want, string(out.last)) {
				t.Errorf("reader %d ends with %.100q", i, out.last)
			}
		})
	}
	b.output(": >/tmp/go")
	p.wait(0, sandbox.Exited)
	readers.Wait()
}

func logCutOff(t *testing.T, s *suite) {
	f := &fragile{Engine: s.engine}
	b := s.ensure(t, s.another(t, f), s.identity(t), s.spec())
	data := noise(4 << 20)
	b.run(sandbox.Command{Line: "cat >/tmp/data", Stdin: bytes.NewReader(data)}).ended(0, sandbox.Exited)
	p := b.startLine("cat /tmp/data; exit 9")
	out := &cutter{f: f, every: 500_000}
	part, err := p.Logs(bounded(t), sandbox.LogOptions{Follow: true}, out)
	if err != nil || out.cuts < 5 || part.Missed != 0 || !bytes.Equal(out.Bytes(), data) || part.Process.Result.Code != 9 {
		t.Errorf("after %d cuts %d bytes arrived of %d: %+v %v", out.cuts, out.Len(), len(data), part, err)
	}
}

func logOfChildren(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.startLine("(until [ -e /tmp/go ]; do sleep 0.02; done; echo child) & echo parent")
	p.wait(0, sandbox.Exited)
	b.output(": >/tmp/go")
	p.says("parent\nchild\n")
}

// D24: logs lay where the sandbox could write, and fill it.
func logOutOfReach(t *testing.T, s *suite) {
	s.need(t, OwnRoot)
	b := s.box(t)
	p := b.startLine("echo needle-$((40+2)); sleep 300")
	p.says("needle-42")
	b.says("find / -xdev -name 'proc_*' 2>/dev/null; grep -rls needle-42 /tmp /workspace /root /run /var 2>/dev/null; ls -d /proc/1/fd/*/processes 2>/dev/null; true", "")
}
