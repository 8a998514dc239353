package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.example/hermes/client"
	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/internal/gateway/api"
)

// world is the API over real sandboxes of the native engine, in a home of its own.
type world struct {
	t      *testing.T
	boxes  *configured.Sandboxes
	api    *api.API
	server *httptest.Server
	client *client.Client
	task   *client.Task
	closed sync.Map // the addresses of callers whose connection the server has closed
}

// still is a gateway that runs, and answers for nothing else.
type still struct{}

func (still) Status() client.GatewayStatus { return client.GatewayStatus{State: "running"} }
func (still) Healthy() bool                { return true }
func (still) Restart() error               { return nil }

func newWorld(t *testing.T) *world {
	t.Helper()
	home := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	variables := map[string]string{"HERMES_HOME": home, "TERMINAL_ENV": "native"}
	sandboxes, err := configured.OpenSandboxes(configured.Options{Lookup: func(name string) (string, bool) {
		v, ok := variables[name]
		return v, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, boxes: sandboxes, api: api.New(api.Options{Gateway: still{}, Open: func() (api.Sandboxes, error) { return sandboxes, nil }})}
	w.server = httptest.NewUnstartedServer(w.api.Handler())
	w.server.Config.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			w.closed.Store(c.RemoteAddr().String(), true)
		}
	}
	said := new(saying)
	w.server.Config.ErrorLog = log.New(said, "", 0)
	w.server.Start()
	w.client, err = client.New(w.server.URL, "", client.Options{Patience: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	w.task = w.client.Task("work")
	t.Cleanup(func() {
		w.server.CloseClientConnections()
		w.server.Close()
		if text := said.text(); strings.Contains(text, "panic") {
			t.Error(text)
		}
		ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
		defer stop()
		if _, err := sandboxes.Manager().Prune(ctx, home, true); err != nil {
			t.Error(err)
		}
		if err := sandboxes.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// begin makes the sandbox.
func (w *world) begin() *world {
	w.t.Helper()
	if _, err := w.task.Ensure(w.t.Context(), client.SandboxSpec{}); err != nil {
		w.t.Skipf("no sandbox of the native engine can be made here: %v", err)
	}
	return w
}

// ask makes a request as it stands, and returns the answer with its body.
func (w *world) ask(method, path string, body io.Reader, headers ...string) (*http.Response, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.server.URL+path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(answer.Body); err != nil {
		w.t.Fatal(err)
	}
	return answer, text.String()
}

// refused checks that a request was refused with a code, as a problem of one line.
func (w *world) refused(code client.Code, method, path string, body io.Reader, headers ...string) {
	w.t.Helper()
	answer, text := w.ask(method, path, body, headers...)
	var p client.Problem
	err := json.Unmarshal([]byte(text), &p)
	if err != nil || p.Code != code || p.Status != answer.StatusCode || p.Detail == "" || strings.Contains(p.Detail, "\n") || answer.Header.Get("Content-Type") != "application/problem+json" {
		w.t.Errorf("%s %s: %d %s %q; it should be refused with %s", method, path, answer.StatusCode, answer.Header.Get("Content-Type"), text, code)
	}
}

// saying keeps what is written by several.
type saying struct {
	mu      sync.Mutex
	written strings.Builder
}

func (s *saying) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written.Write(p)
}

func (s *saying) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written.String()
}
