package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

const testKey = "a-key-that-nobody-may-see"

// against is a client of a server that answers as the function does.
func against(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	c, err := New(server.URL, testKey, Options{Patience: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAddressesThatAreNone(t *testing.T) {
	for _, base := range []string{"", "127.0.0.1:8642", "ftp://x", "http://", "http://user:secret@host", "http://host?x=y", "http://host#x", "http://[::1", "unix:///x"} {
		if _, err := New(base, testKey, Options{}); err == nil || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", base, err)
		}
	}
	for _, base := range []string{"http://127.0.0.1:8642", "https://gateway.example/", "http://[::1]:8642", "https://host/below/a/path/"} {
		if _, err := New(base, testKey, Options{}); err != nil {
			t.Errorf("%q: %v", base, err)
		}
	}
	if _, err := New("http://host", "two\r\nlines", Options{}); err == nil || strings.Contains(err.Error(), "two") {
		t.Errorf("a key of two lines: %v", err)
	}
	if _, err := New("http://host", testKey, Options{HTTP: &http.Client{Timeout: time.Second}}); err == nil {
		t.Error("a client that cuts streams off was taken")
	}
}

// A task may have any name, and it is the one that the gateway gets.
func TestNamesOfTasksArriveAsTheyAre(t *testing.T) {
	var got atomic.Value
	mux := http.NewServeMux()
	mux.HandleFunc("GET /below/v1/sandboxes/{task}/processes/{id}", func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.PathValue("task") + "|" + r.PathValue("id"))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{}`)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	c, err := New(server.URL+"/below/", "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plain", "a/b", "..", ".", "a b", "ä%2f?#&=+", "\xff"} {
		if _, err := c.Task(name).Process(name).Poll(t.Context()); err != nil || got.Load() != name+"|"+name {
			t.Errorf("%q: %q, %v", name, got.Load(), err)
		}
	}
}

func TestProblemsAreErrors(t *testing.T) {
	for code, meaning := range map[Code]error{
		CodeNotFound: sandbox.ErrNotFound, CodeNoFile: fs.ErrNotExist, CodeNoProcess: sandbox.ErrNoProcess, CodeForbidden: fs.ErrPermission,
		CodeTooLarge: sandbox.ErrTooLarge, CodeGone: sandbox.ErrGone, CodeKeyReused: sandbox.ErrIDReused, CodeUnprocessable: sandbox.ErrRefused,
	} {
		c := against(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprintf(w, `{"type":"urn:hermes:problem:x","title":"x","status":418,"detail":"why","code":%q}`, code)
		})
		_, err := c.Status(t.Context())
		var e *Error
		if !errors.Is(err, meaning) || !errors.As(err, &e) || e.Code != code || e.Status != http.StatusTeapot || err.Error() != "why" {
			t.Errorf("%s: %v", code, err)
		}
		if errors.Is(err, sandbox.ErrClosed) || code != CodeNotFound && errors.Is(err, sandbox.ErrNotFound) {
			t.Errorf("%s is taken for another", code)
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"a page of a proxy": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusForbidden) },
		"no JSON":           func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") },
		"half of one": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"profile":`)
		},
		"another place": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/elsewhere" {
				t.Error("it went elsewhere")
			}
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
	} {
		if _, err := against(t, answer).Status(t.Context()); err == nil || strings.Contains(err.Error(), testKey) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What may pass is tried again, as long as the patience lasts; what does not pass is not.
func TestWhatIsTriedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		again  bool
	}{
		"no room":          {503, `{"detail":"x","code":"overloaded"}`, true},
		"too many":         {429, `{"detail":"x","code":"too_many_requests"}`, true},
		"ending":           {503, `{"detail":"x","code":"draining"}`, true},
		"a proxy's word":   {502, `<html>`, true},
		"unavailable":      {503, `{"detail":"x","code":"unavailable"}`, false},
		"not there":        {404, `{"detail":"x","code":"not_found"}`, false},
		"a wrong key":      {401, `{"detail":"x","code":"unauthorized"}`, false},
		"an inner failure": {500, `{"detail":"x","code":"internal"}`, false},
	} {
		var asked atomic.Int32
		c := against(t, func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.WriteHeader(test.status)
			fmt.Fprint(w, test.body)
		})
		_, err := c.Task("x").Follow(t.Context(), "id", nil, nil)
		var e *Error
		if !errors.As(err, &e) || e.Status != test.status || (asked.Load() > 1) != test.again {
			t.Errorf("%s: asked %d times, %v", name, asked.Load(), err)
		}
	}
	// A stream that ends without its last event is no end.
	var asked atomic.Int32
	c := against(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		switch asked.Add(1) {
		case 1:
			fmt.Fprint(w, "id: 2-0\nevent: output\ndata: {\"stream\":\"stdout\",\"offset\":0,\"text\":\"ab\"}\n\nid: 3-0\nevent: output\ndata: {\"stream\":\"stdout\",\"off")
		case 2:
			fmt.Fprint(w, ": only a beat\n\n")
		default:
			if last := r.Header.Get("Last-Event-ID"); last != "2-0" {
				t.Errorf("it went on from %q", last)
			}
			fmt.Fprint(w, "id: 4-0\nevent: output\ndata: {\"stream\":\"stdout\",\"offset\":1,\"text\":\"bcd\"}\n\nevent: exit\ndata: {\"code\":3}\n\n")
		}
	})
	var out strings.Builder
	if r, err := c.Task("x").Follow(t.Context(), "id", &out, nil); err != nil || r.Code != 3 || out.String() != "abcd" {
		t.Errorf("%q, %+v, %v", out.String(), r, err)
	}
	// Output that is missing is said, and never passed over.
	c = against(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: output\ndata: {\"stream\":\"stdout\",\"offset\":7,\"text\":\"x\"}\n\nevent: exit\ndata: {}\n\n")
	})
	if _, err := c.Task("x").Follow(t.Context(), "id", nil, nil); err == nil || !strings.Contains(err.Error(), "7 bytes are missing") {
		t.Errorf("%v", err)
	}
}

// A server may say anything; none of it ends the caller's program.
func TestOutputOfAServerThatLies(t *testing.T) {
	for _, offset := range []string{"-1", "-9223372036854775808", "9223372036854775807"} {
		c := against(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: output\ndata: {\"stream\":\"stdout\",\"offset\":0,\"text\":\"ab\"}\n\n")
			fmt.Fprintf(w, "event: gap\ndata: {\"stream\":\"stderr\",\"offset\":%s,\"bytes\":%s}\n\n", offset, offset)
			fmt.Fprintf(w, "event: output\ndata: {\"stream\":\"stdout\",\"offset\":%s,\"text\":\"x\"}\n\nevent: exit\ndata: {}\n\n", offset)
		})
		var out strings.Builder
		if _, err := c.Task("x").Follow(t.Context(), "id", &out, nil); err == nil || out.String() != "ab" {
			t.Errorf("%s: %q, %v", offset, out.String(), err)
		}
	}
}

func TestAFileIsReadUpToItsLimit(t *testing.T) {
	c := against(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "abc") })
	for limit, want := range map[int64]string{3: "abc", 4: "abc", math.MaxInt64: "abc"} {
		if got, err := c.Task("x").Files().ReadFile(t.Context(), "f", limit); string(got) != want || err != nil {
			t.Errorf("%d: %q, %v", limit, got, err)
		}
	}
	if got, err := c.Task("x").Files().ReadFile(t.Context(), "f", 2); got != nil || !errors.Is(err, sandbox.ErrTooLarge) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestTheEndOfAContextEndsTheTrying(t *testing.T) {
	c := against(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	c.patience = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := c.Task("x").Follow(ctx, "id", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestAListingThatIsCutOffIsAnError(t *testing.T) {
	whole := `{"entries":[{"path":"a","type":"file","mode":"0644","size":1,"time":"2026-01-01T00:00:00Z","uid":0,"gid":0}]}`
	for cut := range len(whole) + 1 {
		c := against(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, whole[:cut])
		})
		var last error
		for _, last = range c.Task("x").Files().List(t.Context(), ".", sandbox.ListOptions{}) {
		}
		if (last == nil) != (cut == len(whole)) {
			t.Errorf("cut at %d: %v", cut, last)
		}
	}
	for body, target := range map[string]error{
		`{"entries":[],"truncated":true}`:                                                sandbox.ErrTooLarge,
		`{"entries":[],"later":{"x":[1]},"problem":{"code":"gone","detail":"it ended"}}`: sandbox.ErrGone,
	} {
		c := against(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, body)
		})
		var last error
		for _, last = range c.Task("x").Files().List(t.Context(), ".", sandbox.ListOptions{}) {
		}
		if !errors.Is(last, target) {
			t.Errorf("%s: %v", body, last)
		}
	}
}

func TestModesAndBytesComeBackAsTheyWere(t *testing.T) {
	for _, mode := range []fs.FileMode{0, 0o644, 0o777, fs.ModeSetuid | 0o755, fs.ModeSetgid | fs.ModeSticky | 0o1, fs.ModeDir | 0o755, fs.ModeSymlink | 0o777} {
		i := sandbox.FileInfo{Path: "a\xff", Mode: mode, Size: 3, UID: 1, GID: 2, Link: "\xfe"}
		if back, err := NewFile(i).Info(); err != nil || back.Mode != mode || back.Path != i.Path || back.Link != i.Link {
			t.Errorf("%v: %+v, %v", mode, back, err)
		}
	}
	for _, mode := range []string{"", "8", "rw", "-1", "10000", "0x1ff", "0o644"} {
		if _, err := ParseMode(mode); err == nil {
			t.Errorf("%q is a mode", mode)
		}
	}
	for _, b := range []string{"", "text", "ä\n", "\xff\x00", "\xc3"} {
		if back, err := NewData([]byte(b)).Bytes(); err != nil || string(back) != b {
			t.Errorf("%q: %q, %v", b, back, err)
		}
	}
}
