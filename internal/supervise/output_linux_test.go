package supervise

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestLinesGoToTheOutputRawAndToTheLogWithTheTime(t *testing.T) {
	b := newBench(t, nil)
	s := b.shell("talk", `echo one; echo "  two" >&2; printf 'no end'; exit 0`)
	s.Log = filepath.Join(b.dir, "logs", "talk")
	b.run(s)
	b.until("talk", in(Parked))
	if got := b.out.String(); got != "one\n  two\nno end\n" {
		t.Errorf("the output is %q", got)
	}
	r, err := b.Log(t.Context(), "talk", 2, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	scanner := bufio.NewScanner(r)
	for _, want := range []string{"  two", "no end"} {
		scanner.Scan()
		at, rest, _ := strings.Cut(scanner.Text(), " ")
		if when, err := time.Parse("2006-01-02T15:04:05.000000000Z", at); err != nil || time.Since(when) > bound || rest != want {
			t.Errorf("the line is %q, %v", scanner.Text(), err)
		}
	}
	b.run(b.shell("mute", "exec sleep 1000"))
	if _, err := b.Log(t.Context(), "mute", 1, false); err == nil {
		t.Error("a service without a log shows one")
	}
}

// whole fails when a write is not of whole lines of one service.
type whole struct {
	t     *testing.T
	count map[byte]int // without a lock: the supervisor writes one after the other
}

func (w *whole) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		text, ended := bytes.CutSuffix(line, []byte{'\n'})
		if !ended || len(bytes.Trim(text, string(text[:1]))) > 0 {
			w.t.Errorf("lines are mixed or cut: %.80q", line)
		}
		w.count[text[0]] += len(text)
	}
	return len(p), nil
}

func TestLinesOfServicesNeverMix(t *testing.T) {
	w := &whole{t: t, count: make(map[byte]int)}
	b := newBench(t, w)
	const each = 4 << 20
	for _, c := range "abcd" {
		b.run(b.shell(string(c), `head -c $1 /dev/zero | tr '\0' `+string(c)+` | fold -w $2`, fmt.Sprint(each), fmt.Sprint(int(c)*97)))
	}
	for _, c := range "abcd" {
		b.until(string(c), in(Parked))
	}
	for _, c := range "abcd" {
		if w.count[byte(c)] != each {
			t.Errorf("%c said %d bytes", c, w.count[byte(c)])
		}
	}
}

// counted is an output of which only the amount is known.
type counted struct{ bytes, largest int }

func (c *counted) Write(p []byte) (int, error) {
	c.bytes += len(p)
	c.largest = max(c.largest, len(p))
	return len(p), nil
}

func TestMuchOutputCostsNoMemory(t *testing.T) {
	out := new(counted)
	b := newBench(t, out)
	before := memory()
	s := b.shell("much", `head -c 100000000 /dev/zero; yes | head -c 10000000`)
	s.Log = filepath.Join(b.dir, "log")
	b.run(s)
	b.until("much", in(Parked))
	if now := memory(); now > before+20<<20 {
		t.Errorf("it cost %d MB", (now-before)>>20)
	}
	// A line without an end is given in pieces, each with one.
	if out.bytes < 110_000_000 || out.largest > longest+2*chunk {
		t.Errorf("%d bytes came, %d at once", out.bytes, out.largest)
	}
}

// memory is the most that this process ever had, without what a race detector takes beside it.
func memory() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}

// stuck is an output that nobody reads, until the test says so.
type stuck chan struct{}

func (s stuck) Write(p []byte) (int, error) {
	<-s
	return len(p), nil
}

func TestAnOutputThatNobodyReadsHoldsUpNoEnd(t *testing.T) {
	out := make(stuck)
	b := newBench(t, out)
	b.run(b.shell("talk", "yes"))
	b.until("talk", in(Ready))
	if err := b.Unregister(t.Context(), "talk"); err != nil {
		t.Error(err)
	}
	close(out)
}

// Whoever still holds the pipe, what was said before the end is given.
func TestTheLastWordsAreGiven(t *testing.T) {
	for i := range 100 {
		r, w, err := readable()
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Repeat("last words\n", 5_000)
		if _, err := w.WriteString(said); err != nil {
			t.Fatal(err)
		}
		var heard strings.Builder
		o := newOutput(r, func(lines []byte) { heard.Write(lines) }, func() {})
		o.close()
		w.Close()
		if heard.String() != said {
			t.Fatalf("round %d: %d of %d bytes were heard", i, heard.Len(), len(said))
		}
	}
}

func TestTheLogIsFollowedAcrossRestarts(t *testing.T) {
	b := newBench(t, nil)
	s := b.shell("talk", `echo "run $(wc -l <runs)"; echo >>runs; sleep 0.05; exit 1`)
	if err := os.WriteFile(filepath.Join(b.dir, "runs"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(b.dir, "runs"), 0o666); err != nil {
		t.Fatal(err)
	}
	s.Log = filepath.Join(b.dir, "log")
	s.Restart = Restarting{Min: time.Millisecond, Max: time.Millisecond, Burst: 100}
	if err := b.Register(t.Context(), s, false); err != nil {
		t.Fatal(err)
	}
	r, err := b.Log(t.Context(), "talk", 10, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := b.Start(t.Context(), "talk"); err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(r)
	for i := range 4 {
		if !scanner.Scan() || !strings.HasSuffix(scanner.Text(), fmt.Sprintf(" run %d", i)) {
			t.Errorf("line %d is %q, %v", i, scanner.Text(), scanner.Err())
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("one\ntwo\nrest"), 3)
	f.Add([]byte("\n\n"), 1)
	f.Add(bytes.Repeat([]byte("x"), 3*longest), 1000)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		if size < 1 || size > chunk {
			size = 1 + len(text)/2
		}
		var l lines
		var got []byte
		for rest := text; len(rest) > 0; {
			n := min(size, len(rest))
			piece := bytes.Clone(rest[:n])
			rest = rest[n:]
			given := l.add(piece)
			if len(given) > 0 && given[len(given)-1] != '\n' {
				t.Fatalf("half a line: %q", given)
			}
			got = append(got, given...)
			if len(l.begun) >= longest+chunk {
				t.Fatalf("%d bytes are kept", len(l.begun))
			}
		}
		got = append(got, l.rest()...)
		if want := bytes.ReplaceAll(text, []byte{'\n'}, nil); !bytes.Equal(bytes.ReplaceAll(got, []byte{'\n'}, nil), want) {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
		if len(text) < longest && !bytes.Equal(bytes.TrimSuffix(got, []byte{'\n'}), bytes.TrimSuffix(text, []byte{'\n'})) {
			t.Errorf("%q became %q", text, got)
		}
	})
}
