package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// overHTTP serves the world's door, and returns where.
func (w *world) overHTTP() string {
	w.t.Helper()
	server := httptest.NewServer(w.door.Handler())
	w.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// connectHTTP lets a client of the protocol's library in, over HTTP.
func (w *world) connectHTTP(url string, transport http.RoundTripper) *client {
	w.t.Helper()
	c := &client{t: w.t}
	c.open(&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: transport}, MaxRetries: -1})
	w.t.Cleanup(func() { c.Close() })
	return c
}

// post sends one message as curl would, and returns the status and the text of the answer.
func post(t *testing.T, url, session, body string) (int, string, http.Header) {
	t.Helper()
	request, _ := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		request.Header.Set("Mcp-Session-Id", session)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var b strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := response.Body.Read(buffer)
		b.Write(buffer[:n])
		if err != nil {
			break
		}
	}
	return response.StatusCode, b.String(), response.Header
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}`

func TestSessionsOverHTTP(t *testing.T) {
	w := newWorld(t, nil)
	url := w.overHTTP()
	a, b := w.connectHTTP(url, nil), w.connectHTTP(url, nil)
	a.run("cd /tmp")
	if got := a.run("pwd"); got != "/tmp" {
		t.Errorf("the next call is in %q", got)
	}
	if got := b.run("pwd"); got != "/workspace" {
		t.Errorf("another client is in %q", got)
	}
	id := a.ID()
	if err := a.Close(); err != nil { // which sends DELETE
		t.Error(err)
	}
	if status, text, _ := post(t, url, id, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); status != 404 {
		t.Errorf("an ended session answers: %d %s", status, text)
	}
	until(t, "nothing of it is kept", func() bool {
		w.door.mu.Lock()
		defer w.door.mu.Unlock()
		return len(w.door.sessions) == 1
	})
}

func TestToEndASessionEndsItsCalls(t *testing.T) {
	w := newWorld(t, nil)
	url := w.overHTTP()
	c := w.connectHTTP(url, nil)
	c.run("true")
	go c.call(t.Context(), "terminal", map[string]any{"command": "sleep 4447"})
	until(t, "it runs", func() bool { return w.sleepers("4447") == "1" })
	request, _ := http.NewRequest("DELETE", url, nil)
	request.Header.Set("Mcp-Session-Id", c.ID())
	response, err := http.DefaultClient.Do(request)
	if err != nil || response.StatusCode != 204 {
		t.Fatalf("%v, %v", response, err)
	}
	response.Body.Close()
	if got := w.sleepers("4447"); got != "0" {
		t.Errorf("%s are left after the answer", got)
	}
}

// dropping cuts every connection of a client when it is told to.
type dropping struct {
	http.Transport
	ctx context.Context
}

func (d *dropping) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := d.ctx.Err(); err != nil {
		return nil, err // it does not even say that it goes
	}
	ctx, cancel := context.WithCancel(r.Context())
	context.AfterFunc(d.ctx, cancel)
	return d.Transport.RoundTrip(r.WithContext(ctx))
}

func TestCallsOfAClientThatDoesNotComeBackAreEnded(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.abandon = 300 * time.Millisecond })
	url := w.overHTTP()
	ctx, cut := context.WithCancel(t.Context())
	c := w.connectHTTP(url, &dropping{ctx: ctx})
	c.run("true")
	go c.call(t.Context(), "terminal", map[string]any{"command": "sleep 4448"})
	until(t, "it runs", func() bool { return w.sleepers("4448") == "1" })
	cut()
	until(t, "it is ended", func() bool { return w.sleepers("4448") == "0" })
}

// An answer that was given while the client was away is there when it comes back for it.
func TestADroppedStreamIsResumed(t *testing.T) {
	w := newWorld(t, nil)
	url := w.overHTTP()
	_, _, header := post(t, url, "", strings.Replace(initialize, "2025-06-18", "2025-11-25", 1))
	id := header.Get("Mcp-Session-Id")
	post(t, url, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	ctx, cut := context.WithCancel(t.Context())
	ask := func(ctx context.Context, method, last, body string) *http.Response {
		request, _ := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		request.Header.Set("Mcp-Session-Id", id)
		request.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		if last != "" {
			request.Header.Set("Last-Event-ID", last)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	response := ask(ctx, "POST", "", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"terminal","arguments":{"command":"until [ -e /tmp/go ]; do sleep 0.05; done; echo finished"}}}`)
	first := make([]byte, 1024)
	n, err := response.Body.Read(first)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(first[:n]), "id: ")
	last, _, _ := strings.Cut(rest, "\n")
	cut()
	response.Body.Close()
	w.sandboxRun("touch /tmp/go")
	response = ask(t.Context(), "GET", last, "")
	defer response.Body.Close()
	text := make([]byte, 4096)
	n, _ = response.Body.Read(text)
	if !strings.Contains(string(text[:n]), "finished") {
		t.Errorf("after %q: %d %s", last, response.StatusCode, text[:n])
	}
}

func TestBadRequestsOverHTTP(t *testing.T) {
	w := newWorld(t, nil)
	url := w.overHTTP()
	for name, test := range map[string]struct {
		session, body string
		status        int
	}{
		"no message":            {"", "rubbish", 400},
		"nothing":               {"", "", 400},
		"a session that is not": {"none", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 404},
		"a huge one":            {"", strings.Repeat("x", MostMessage+1), 413},
	} {
		if status, text, _ := post(t, url, test.session, test.body); status != test.status {
			t.Errorf("%s: %d %.200s", name, status, text)
		}
	}
	if n := len(w.door.everySession()); n != 0 {
		t.Errorf("%d sessions are left of them", n)
	}
}

func TestTooManySessionsAreRefused(t *testing.T) {
	w := newWorld(t, nil)
	url := w.overHTTP()
	var last string
	for i := range mostSessions {
		status, text, header := post(t, url, "", initialize)
		if last = header.Get("Mcp-Session-Id"); status != 200 || last == "" {
			t.Fatalf("session %d: %d %s", i, status, text)
		}
	}
	status, text, header := post(t, url, "", initialize)
	var problem struct{ Detail string }
	if json.Unmarshal([]byte(text), &problem); status != 503 || header.Get("Retry-After") == "" || !strings.Contains(problem.Detail, "too many sessions") {
		t.Errorf("one more: %d %s", status, text)
	}
	request, _ := http.NewRequest("DELETE", url, nil)
	request.Header.Set("Mcp-Session-Id", last)
	if response, err := http.DefaultClient.Do(request); err != nil || response.StatusCode != 204 {
		t.Fatal(fmt.Sprint(response, err))
	}
	if status, text, _ := post(t, url, "", initialize); status != 200 {
		t.Errorf("after one has ended: %d %s", status, text)
	}
}
