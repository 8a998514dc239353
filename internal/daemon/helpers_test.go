package daemon

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/config"
)

const realSocket = "/var/run/docker.sock"

// realDocker skips where no Docker Engine answers.
func realDocker(t *testing.T) {
	t.Helper()
	conn, err := net.DialTimeout("unix", realSocket, time.Second)
	if err != nil {
		t.Skipf("no Docker Engine: %v", err)
	}
	conn.Close()
}

// lookup is an environment with these variables and no others.
func lookup(pairs ...string) config.Lookup {
	return func(name string) (string, bool) {
		for _, pair := range pairs {
			if value, found := strings.CutPrefix(pair, name+"="); found {
				return value, true
			}
		}
		return "", false
	}
}

// shortDir has a name short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "d")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func write(t *testing.T, path, content string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// linkDocker puts the real engine at another place.
func linkDocker(t *testing.T, path string) {
	t.Helper()
	realDocker(t)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(realSocket, path); err != nil {
		t.Fatal(err)
	}
}

func listen(t *testing.T, path string) net.Listener {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

// serve answers at a socket in the place of an engine, to inject faults.
func serve(t *testing.T, path string, handler http.HandlerFunc) {
	t.Helper()
	server := &http.Server{Handler: handler}
	listener := listen(t, path)
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
}

// inFront hands requests on to the real engine.
func inFront() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "docker" },
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", realSocket)
		}},
	}
}

// find wants an engine of a kind.
func find(t *testing.T, o Options, kind Kind, host string) Endpoint {
	t.Helper()
	e, err := Find(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if e.Kind != kind || e.Host != host {
		t.Fatalf("found %s at %s (%s), want %s at %s", e.Kind, e.Host, e.From, kind, host)
	}
	return e
}

// fails wants an error with a reason and these words in its one line.
func fails(t *testing.T, o Options, reason Reason, words ...string) *Error {
	t.Helper()
	e, err := Find(t.Context(), o)
	var failed *Error
	if !errors.As(err, &failed) {
		t.Fatalf("found %+v, %v", e, err)
	}
	line := err.Error()
	if failed.Reason != reason || failed.Fix == "" || !strings.HasPrefix(line, "cannot ") || strings.Contains(line, "\n") {
		t.Errorf("%s, want %s: %q", failed.Reason, reason, line)
	}
	for _, word := range words {
		if !strings.Contains(line, word) {
			t.Errorf("no %q in %q", word, line)
		}
	}
	return failed
}
