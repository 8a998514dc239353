package api

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"hermes.example/hermes/client"
)

func TestWhatIsWrongWithABodyIsSaidInOneLine(t *testing.T) {
	for text, words := range map[string]string{
		``:                            "no whole JSON",
		`{`:                           "no whole JSON",
		`nope`:                        "no JSON",
		`{"line":"a"} x`:              "something follows",
		`{"line":"a"}{}`:              "something follows",
		`{"line":1}`:                  `"line" must not be a number`,
		`{"env":{"A":1}}`:             "must not be a number",
		`[]`:                          "must be an object",
		`"text"`:                      "must be an object",
		`{"lime":"a"}`:                `unknown field "lime"`,
		"{\"line\":\"\xff\"}":         "not UTF-8",
		`{"timeout":1e400}`:           "timeout",
		`{"stdin_base64":"not base"}`: "base64",
	} {
		var e client.Exec
		err := decodeJSON([]byte(text), &e)
		if err == nil || !strings.Contains(err.Error(), words) || strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "client.") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A request that is taken is taken whole: what was understood, written down again, means the same.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{`{"line":"echo a","env":{"A":"b"},"timeout":1.5}`, `{"argv":["a",""],"stdin_base64":"AP8="}`, `{"tasks":["a","b"]}`,
		`{"image":"x","memory":-1,"require":["seccomp"]}`, `{"type":"start","id":"a","exec":{"line":"x"},"term":{"rows":1,"cols":2},"from":{"stdout":1,"stderr":2}}`, `null`, `{}`, `{"line":"\u0000"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		again(t, text, new(client.Exec), func(e *client.Exec) { command("task", "key", *e) })
		again(t, text, new(client.Fork), nil)
		again(t, text, new(client.SandboxSpec), nil)
		again(t, text, new(client.AttachRequest), func(r *client.AttachRequest) { checkFirst(*r) })
	})
}

func again[T any](t *testing.T, text []byte, first *T, use func(*T)) {
	if decodeJSON(text, first) != nil {
		return
	}
	if !utf8.Valid(text) {
		t.Errorf("%q is no text, and was taken", text)
	}
	written, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	second := new(T)
	if err := decodeJSON(written, second); err != nil {
		t.Fatalf("%s became %s: %v", text, written, err)
	}
	twice, _ := json.Marshal(second)
	if !bytes.Equal(written, twice) {
		t.Errorf("%s became %s and then %s", text, written, twice)
	}
	if use != nil {
		use(first)
	}
}

func FuzzPositions(f *testing.F) {
	for _, seed := range []string{"0-0", "4096-17", "-1-0", "1-", "01-2", "9223372036854775808-0", "1-2-3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := client.ParsePosition(text); err == nil && (p.String() != text || p.Stdout < 0 || p.Stderr < 0) {
			t.Errorf("%q became %v", text, p)
		}
	})
}

func TestAWindowKeepsTheBeginningAndTheEnd(t *testing.T) {
	whole := []byte("0123456789abcdefghij")
	for size := int64(1); size <= 24; size++ {
		for piece := 1; piece <= len(whole); piece++ {
			w := newWindow(size)
			for rest := whole; len(rest) > 0; {
				n := min(piece, len(rest))
				w.Write(rest[:n])
				rest = rest[n:]
			}
			got := w.output()
			half := int((size + 1) / 2)
			want := append(append([]byte{}, whole[:min(half, 20)]...), whole[max(min(half, 20), 20-half):]...)
			if got.Bytes != 20 || string(got.Data()) != string(want) || got.Omitted != int64(20-len(want)) {
				t.Fatalf("%d in pieces of %d: %+v, want %q", size, piece, got, want)
			}
		}
	}
	w := newWindow(8)
	w.Write([]byte("ab"))
	w.gap(100)
	w.Write([]byte("yz"))
	if got := w.output(); got.Bytes != 104 || got.Text != "abyz" || got.Omitted != 100 || got.OmittedAt != 2 {
		t.Errorf("%+v", got)
	}
}

func TestEveryCodeHasAKind(t *testing.T) {
	for c, k := range kinds {
		p := Problem(c, "a\nb")
		if p.Status != k.status || p.Status < 400 || p.Title == "" || p.Detail != "a b" || p.Type != "urn:hermes:problem:"+string(c) {
			t.Errorf("%+v", p)
		}
	}
	for _, o := range new(API).Operations() {
		if o.ID == "" || o.Summary == "" || o.Tag == "" || len(o.Answers) == 0 || o.Handle == nil {
			t.Errorf("%s %s is not described", o.Method, o.Path)
		}
		for _, c := range o.Errors {
			if _, ok := kinds[c]; !ok {
				t.Errorf("%s %s: no kind is called %s", o.Method, o.Path, c)
			}
		}
	}
}
