package capture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func newCapture(t *testing.T, limit int, secrets ...string) *Capture {
	t.Helper()
	return New(Options{Limit: limit, Secrets: secrets, Home: t.TempDir(), Now: time.Now})
}

// shown is what is shown of a text that comes in pieces.
func shown(t *testing.T, limit int, secrets []string, status string, pieces ...string) Text {
	t.Helper()
	c := newCapture(t, limit, secrets...)
	for _, p := range pieces {
		c.Write([]byte(p))
	}
	return c.Finish(status)
}

// pieces cuts a text anywhere.
func pieces(r *rand.Rand, text string) (cut []string) {
	for text != "" {
		n := min(len(text), 1+r.IntN(40))
		cut, text = append(cut, text[:n]), text[n:]
	}
	return cut
}

func seeded(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func TestWhatFitsIsShownWhole(t *testing.T) {
	for _, text := range []string{"", "a", "a\nb\n", strings.Repeat("ä", 100)} {
		got := shown(t, 100, nil, "", text)
		if got.Text != text || got.Cut || got.File != "" || got.Total != int64(utf8.RuneCountInString(text)) {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestLongOutputIsCutToItsBeginningAndEnd(t *testing.T) {
	r := seeded(t)
	alphabet := []rune("abc 0123\näöü€😀")
	for range 300 {
		limit := 300 + r.IntN(2000)
		text := make([]rune, limit+1+r.IntN(8*limit))
		for i := range text {
			text[i] = alphabet[r.IntN(len(alphabet))]
		}
		got := shown(t, limit, nil, "", pieces(r, string(text))...)
		answer := []rune(got.Text)
		if len(answer) > limit || len(answer) < limit-10 || !utf8.ValidString(got.Text) {
			t.Fatalf("limit %d: %d characters, valid %v", limit, len(answer), utf8.ValidString(got.Text))
		}
		head, rest, found := strings.Cut(got.Text, "\n\n[… ")
		said, tail, found2 := strings.Cut(rest, " …]\n\n")
		if !found || !found2 || !strings.HasPrefix(string(text), head) || !strings.HasSuffix(string(text), tail) {
			t.Fatalf("limit %d: not the beginning and the end", limit)
		}
		h, l := utf8.RuneCountInString(head), utf8.RuneCountInString(tail)
		if share := h * 100 / (h + l); share < 39 || share > 41 {
			t.Errorf("the beginning has %d %% of what is shown", share)
		}
		if want := fmt.Sprintf("%d of %d characters", len(text)-h-l, len(text)); !strings.HasPrefix(said, want) {
			t.Errorf("%q, want %q", said, want)
		}
		if !got.Cut || got.Total != int64(len(text)) {
			t.Errorf("%+v", got)
		}
		if whole, err := os.ReadFile(got.File); err != nil || string(whole) != string(text) {
			t.Errorf("the file has %d bytes of %d, %v", len(whole), len(string(text)), err)
		}
		if !strings.Contains(got.Text, got.File) && limit > 1000 {
			t.Errorf("the notice does not name the file: %q", said)
		}
	}
}

func TestStatusIsShownWhateverElseIsNot(t *testing.T) {
	const status = "[Command timed out after 5s]"
	for _, c := range []struct {
		limit int
		raw   string
		want  string
	}{
		{100, status + "\n", status},
		{100, "a\n" + status + "\n", "a\n" + status},
		{100, "half\n" + status + "\n", "half\n" + status},
		{100, "a\n\x1b]never closed" + "\n" + status + "\n", "a\n\n" + status},
		{100, "a\n\x1bPnever closed\n" + status + "\n", "a\n" + status},
		{30, "0123456789\n" + status + "\n", "\n" + status},
		{10, "0123456789\n" + status + "\n", "after 5s]"},
	} {
		got := shown(t, c.limit, nil, status, c.raw)
		if !strings.HasSuffix(got.Text, c.want) || utf8.RuneCountInString(got.Text) > c.limit {
			t.Errorf("%d %q: %q", c.limit, c.raw, got.Text)
		}
	}
	got := shown(t, 500, nil, status, strings.Repeat("x", 5000), "\n"+status+"\n")
	if !strings.HasSuffix(got.Text, "x\n"+status) || len([]rune(got.Text)) > 500 || got.Total != 5001 {
		t.Errorf("%+v", got)
	}
}

func TestTextIsMadePlain(t *testing.T) {
	for raw, want := range map[string]string{
		"\x1b[1;31mred\x1b[0m":                     "red",
		"\x1b]0;title\x07text":                     "text",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1b]0;never closed\nnext":                "\nnext",
		"\x1bPdata\nmore\x1b\\text":                "text",
		"\x1b(Bplain\x1b=\x1b>":                    "plain",
		"a\x1b[31":                                 "a",
		"a\x1b[3\nb":                               "a\nb",
		"\u009b31mred":                             "red",
		"bell\x07 nul\x00 del\x7f back\x08":        "bell nul del back",
		"tab\tcr\r\nline":                          "tab\tcr\r\nline",
		"caf\xe9":                                  "caf\ufffd",
		"half\xe2\x82":                             "half\ufffd\ufffd",
		"\xff\xfe\xfd":                             "\ufffd\ufffd\ufffd",
		"ä € 😀 ©\u00a0":                            "ä € 😀 ©\u00a0",
	} {
		for at := range len(raw) + 1 {
			if got := shown(t, 1000, nil, "", raw[:at], raw[at:]).Text; got != want {
				t.Errorf("%q split at %d: %q, want %q", raw, at, got, want)
			}
		}
	}
	long := "\x1bP" + strings.Repeat("x", longestString) + "the rest"
	if got := shown(t, 1000, nil, "", long).Text; got != "the rest" {
		t.Errorf("a control string without an end hides %q", got)
	}
}

const samplePEM = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\nAAAA\n-----END OPENSSH PRIVATE KEY-----"

func TestSecretsAreHiddenWhereverTheTextIsSplit(t *testing.T) {
	secrets := []string{"correct horse", "hunter22", "hunter2200", "ab", " spaced-value ", "two\nlines here"}
	for raw, want := range map[string]string{
		"the password is correct horse.":                               "the password is [redacted].",
		"hunter2hunter22hunter2200hunter2":                             "hunter2[redacted][redacted]hunter2",
		"ab is too short":                                              "ab is too short",
		"x spaced-value y":                                             "x [redacted] y",
		"two\nlines here and two\nlines":                               "[redacted] and two\nlines",
		"KEY=sk-proj-" + strings.Repeat("a1", 20):                      "KEY=[redacted]",
		"https://u:ghp_" + strings.Repeat("a1", 18) + "@h":             "https://u:[redacted]@h",
		"AKIAIOSFODNN7EXAMPLE":                                         "[redacted]",
		"sk-learn and sk-1":                                            "sk-learn and sk-1",
		"task-" + strings.Repeat("a1", 20):                             "task-" + strings.Repeat("a1", 20),
		"a " + samplePEM + " b":                                        "a [redacted] b",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn":                  "[redacted]",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
		"-----BEGIN ":                                                  "-----BEGIN ",
		"eyJ" + strings.Repeat("a", 30) + ".eyJ" + strings.Repeat("b", 30) + ".c": "[redacted]",
	} {
		for at := range len(raw) + 1 {
			if got := shown(t, 1000, secrets, "", raw[:at], raw[at:]).Text; got != want {
				t.Errorf("%q split at %d: %q, want %q", raw, at, got, want)
			}
		}
		if got := shown(t, 1000, secrets, "", strings.Split(raw, "")...).Text; got != want {
			t.Errorf("%q byte by byte: %q, want %q", raw, got, want)
		}
	}
}

func TestNoSecretIsInTheFile(t *testing.T) {
	r := seeded(t)
	const secret = "correct horse battery"
	text := strings.Repeat("filler "+secret+" filler\n"+samplePEM+"\n", 100)
	got := shown(t, 500, []string{secret}, "", pieces(r, text)...)
	whole, err := os.ReadFile(got.File)
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{secret, "b3BlbnNzaC1rZXk"} {
		if bytes.Contains(whole, []byte(hidden)) || strings.Contains(got.Text, hidden) {
			t.Errorf("%q is shown", hidden)
		}
	}
	if n := bytes.Count(whole, []byte(Redacted)); n != 200 {
		t.Errorf("%d are hidden, not 200", n)
	}
}

// What is held back waits for its end, and not for ever.
func TestMemoryIsBoundedHoweverLongTheOutputIs(t *testing.T) {
	for name, piece := range map[string][]byte{
		"lines":       []byte(strings.Repeat("a line of text like many others, with € in it\n", 1000)),
		"one word":    bytes.Repeat([]byte("x1"), 16<<10),
		"binary":      bytes.Repeat([]byte{0, 0xff, 0xe2, 0x1b, ']'}, 8<<10),
		"open key":    []byte(strings.Repeat(samplePEM[:60], 500)),
		"open string": []byte("\x1bP" + strings.Repeat("text ", 5000)),
		"one token":   []byte("sk-" + strings.Repeat("a1", 10000)),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCapture(t, 50_000, "a secret value")
			c.Write(piece)
			before := heap()
			for written := 0; written < 32<<20; written += len(piece) {
				c.Write(piece)
				if held := len(c.redact.held) + len(c.clean.part); held > 3*longestHeld+len(piece) {
					t.Fatalf("%d bytes are held back", held)
				}
			}
			if grown := heap() - before; grown > 4<<20 {
				t.Errorf("the heap has grown by %d KiB", grown>>10)
			}
			runtime.KeepAlive(c)
		})
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestLastWholeLineIsTheProgress(t *testing.T) {
	c := newCapture(t, 100)
	for _, p := range []struct{ text, line string }{{"", ""}, {"step 1", "step 1"}, {"\nst", "step 1"}, {"ep 2\n", "step 2"}, {strings.Repeat("x", 500) + "\n", strings.Repeat("x", 99)}} {
		c.Write([]byte(p.text))
		if _, line := c.Progress(); p.text != "step 1" && !strings.HasPrefix(line, p.line) {
			t.Errorf("after %q: %q", p.text, line)
		}
	}
	if size, line := c.Progress(); size != int64(len("step 1\nstep 2\n"))+501 || len(line) > longestLine {
		t.Errorf("%d bytes, a line of %d", size, len(line))
	}
}

func FuzzTextIsPlainBoundedAndWithoutSecrets(f *testing.F) {
	f.Add([]byte("\x1b[31mred hunter2200\x1b]"), 5, 40)
	f.Add([]byte(samplePEM), 30, 400)
	f.Add([]byte("half\xe2\x82hunter\x1b[m2200"), 9, 9)
	f.Fuzz(func(t *testing.T, raw []byte, at, limit int) {
		if limit < 1 || limit > 1<<16 {
			return
		}
		at = min(max(at, 0), len(raw))
		got := shown(t, limit, []string{"hunter2200"}, "", string(raw[:at]), string(raw[at:]))
		if !utf8.ValidString(got.Text) || utf8.RuneCountInString(got.Text) > limit {
			t.Errorf("%d characters of %d, valid %v", utf8.RuneCountInString(got.Text), limit, utf8.ValidString(got.Text))
		}
		if strings.ContainsAny(got.Text, "\x1b\x00\x07") || strings.Contains(got.Text, "hunter2200") {
			t.Errorf("%q is shown as %q", raw, got.Text)
		}
		if whole := shown(t, limit, []string{"hunter2200"}, "", string(raw)); whole.Text != got.Text && got.File == "" {
			t.Errorf("%q in one piece is %q, split %q", raw, whole.Text, got.Text)
		}
	})
}
