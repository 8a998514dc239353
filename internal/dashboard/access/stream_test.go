package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"hermes.example/hermes/internal/config"
)

// streams is a real server with a door, behind which there are streams, and a session of so long.
func streams(t *testing.T, ttl time.Duration, behind http.HandlerFunc) (address string, header http.Header) {
	t.Helper()
	a, err := New(Options{Settings: config.Dashboard{Host: "127.0.0.1", Basic: cheap("me", "pw", "")}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(a.Guard(behind))
	t.Cleanup(server.Close)
	token, _ := a.signer.issue(access, of("me"), ttl)
	name := accessCookie.name(caller{host: strings.TrimPrefix(server.URL, "http://")})
	return server.URL, http.Header{"Cookie": {name + "=" + token}, "Origin": {server.URL}}
}

// followed is a stream of events that goes on until its context ends, and tells why that was.
func followed(why chan<- error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			fmt.Fprintln(w, "data: x")
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				why <- context.Cause(r.Context())
				return
			case <-tick.C:
			}
		}
	}
}

func get(t *testing.T, address string, header http.Header) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", address+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// shortly is how long a session lasts that is to end in a test. What is below a second of it is cut.
const shortly = 4 * time.Second

func TestAStreamEndsWithItsSession(t *testing.T) {
	why := make(chan error, 1)
	address, header := streams(t, shortly, followed(why))
	answer := get(t, address, header)
	if answer.StatusCode != 200 {
		t.Fatalf("status %d", answer.StatusCode)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Errorf("it was torn off: %v", err)
	}
	if err := <-why; !errors.Is(err, errSessionOver) {
		t.Errorf("it ended because of %v", err)
	}
	if again := get(t, address, header); again.StatusCode != http.StatusUnauthorized {
		t.Errorf("the next one: %d", again.StatusCode)
	}
}

// A WebSocket ends too, also one that looks at nothing but its connection.
func TestAWebSocketEndsWithItsSession(t *testing.T) {
	ended := make(chan error, 1)
	address, header := streams(t, shortly, func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			ended <- err
			return
		}
		defer conn.CloseNow()
		_, _, err = conn.Read(context.WithoutCancel(r.Context()))
		ended <- err
	})
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(address, "http"), &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if _, _, err := conn.Read(t.Context()); err == nil {
		t.Error("it goes on")
	}
	if err := <-ended; err == nil {
		t.Error("the other side goes on")
	}
}

// Nobody waits for who does not read: what is sent to him ends with the session too.
func TestAStreamToWhoDoesNotReadEnds(t *testing.T) {
	ended := make(chan error, 1)
	address, header := streams(t, shortly, func(w http.ResponseWriter, _ *http.Request) {
		much := make([]byte, 1<<20)
		for {
			if _, err := w.Write(much); err != nil {
				ended <- err
				return
			}
		}
	})
	if answer := get(t, address, header); answer.StatusCode != 200 { // and nothing of it is read
		t.Fatalf("status %d", answer.StatusCode)
	}
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("it goes on")
	}
}

func TestAWebSocketSaysWhereItComesFrom(t *testing.T) {
	address, header := streams(t, time.Hour, func(w http.ResponseWriter, r *http.Request) {
		if conn, err := websocket.Accept(w, r, nil); err == nil {
			conn.Close(websocket.StatusNormalClosure, "")
		}
	})
	for _, test := range []struct {
		origin string
		want   int
	}{{header.Get("Origin"), 101}, {"", 403}, {"http://evil.example", 403}, {"null", 403}} {
		header := header.Clone()
		if header.Set("Origin", test.origin); test.origin == "" {
			header.Del("Origin")
		}
		conn, r, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(address, "http"), &websocket.DialOptions{HTTPHeader: header})
		if err == nil {
			conn.CloseNow()
		}
		if r == nil || r.StatusCode != test.want {
			t.Errorf("from %q: %v, %v", test.origin, r, err)
		}
	}
}
