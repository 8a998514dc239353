package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"hermes.example/hermes/client"
)

// A caller that goes away while its command takes no input is not seen to go, because nothing is read of it.
func TestWhoGoesAwayWithInputOnItsWayTakesItsCommandAlong(t *testing.T) {
	w := newWorld(t)
	w.api.PingEvery(200 * time.Millisecond)
	w.begin()
	ctx, conn := w.attach()
	first, _ := json.Marshal(client.AttachRequest{Type: client.AttachStart, Exec: &client.Exec{Line: "sleep 1000"}})
	if err := conn.Write(ctx, websocket.MessageText, first); err != nil {
		t.Fatal(err)
	}
	// So much that it does not fit into what waits anywhere: then this end cannot write either.
	for piece := make([]byte, 128<<10); ; {
		enough, stop := context.WithTimeout(ctx, time.Second)
		err := conn.Write(enough, websocket.MessageBinary, piece)
		stop()
		if err != nil {
			break
		}
	}
	conn.CloseNow()
	w.until("the command has ended", func() bool {
		sheet, err := w.task.Inspect(ctx)
		return err == nil && sheet.Status != nil && sheet.Status.Commands == 0
	})
}

// A caller that does not take output for some time is waited for, as long as it may take; it is not held to be gone because
// it cannot be asked meanwhile.
func TestASlowReaderOfASocketIsNotGone(t *testing.T) {
	w := newWorld(t)
	w.api.PingEvery(2 * time.Second)
	w.begin()
	ctx, conn := w.attach()
	conn.SetReadLimit(1 << 20)
	const all = 48 << 20 // more than waits on the way
	first, _ := json.Marshal(client.AttachRequest{Type: client.AttachStart, Exec: &client.Exec{Line: "head -c 50331648 /dev/zero"}})
	if err := conn.Write(ctx, websocket.MessageText, first); err != nil {
		t.Fatal(err)
	}
	<-time.After(5 * time.Second) // that is how slow it is, and as long as two questions
	came := 0
	for {
		kind, message, err := conn.Read(ctx)
		if err != nil {
			t.Fatalf("after %d bytes: %v", came, err)
		}
		if kind == websocket.MessageBinary {
			came += len(message) - 9
			continue
		}
		var said client.AttachAnswer
		if json.Unmarshal(message, &said); said.Type == client.AttachExit {
			break
		}
	}
	if came != all {
		t.Errorf("%d bytes came, of %d", came, all)
	}
}

// A connection that has become a socket is not settled as an answer is: it is the server's no more. That the server
// does not panic is seen when the world ends.
func TestASocketIsNotSettled(t *testing.T) {
	w := newWorld(t)
	w.begin()
	for body, status := range map[string]int{"": http.StatusSwitchingProtocols, "of a request that has none": http.StatusRequestEntityTooLarge} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server.URL+"/v1/sandboxes/work/attach", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-WebSocket-Version": {"13"}, "Sec-WebSocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}}
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != status {
			t.Errorf("%q: status %d", body, answer.StatusCode)
		}
		answer.Body.Close()
	}
}

// attach opens a socket, and a context for what is said over it.
func (w *world) attach() (context.Context, *websocket.Conn) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	w.t.Cleanup(cancel)
	conn, _, err := websocket.Dial(ctx, w.server.URL+"/v1/sandboxes/work/attach", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.CloseNow() })
	return ctx, conn
}

// until waits for what is to happen by itself.
func (w *world) until(what string, happened func() bool) {
	w.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(20 * time.Second); !happened(); {
		select {
		case <-end:
			w.t.Fatalf("it does not happen: %s", what)
		case <-tick.C:
		}
	}
}
