package api_test

import (
	"net/http"
	"testing"
	"time"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

// Who only looks at a sandbox that runs, however often or long, does not keep it in use: it would never be reaped while a
// page of it is open somewhere.
func TestWhoOnlyLooksDoesNotUseASandbox(t *testing.T) {
	w := newWorld(t).begin()
	process, _, err := w.task.Start(t.Context(), client.ProcessRequest{Line: "echo it ran"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := process.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.boxes.Release("work")
	before := w.unused()
	began := time.Now()
	const base = "/v1/sandboxes/work"
	events, err := http.NewRequestWithContext(t.Context(), "GET", w.server.URL+base+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	events.Header.Set("Accept", "text/event-stream")
	following, err := http.DefaultTransport.RoundTrip(events)
	if err != nil {
		t.Fatal(err)
	}
	defer following.Body.Close()
	for _, path := range []string{base, base + "/processes", base + "/processes/" + process.ID, base + "/processes/" + process.ID + "/log", base + "/events"} {
		if answer, text := w.ask("GET", path, nil); answer.StatusCode != http.StatusOK {
			t.Errorf("GET %s: %s: %s", path, answer.Status, text)
		}
	}
	passed := time.Since(began)
	const tick = 10 * time.Millisecond // of clocks, and of who tells them
	now, err := w.boxes.Manager().StatusOf(t.Context(), w.boxes.Identity("work"))
	if err != nil {
		t.Fatal(err)
	}
	if now.Connections != 0 || now.Idle < before.Idle+passed-tick || w.boxes.Held() != 0 {
		t.Errorf("it was unused for %s, and after the looks for %s, with %d connections and %d holds", before.Idle, now.Idle, now.Connections, w.boxes.Held())
	}
}

// unused waits until nobody uses the sandbox, and says how it is then.
func (w *world) unused() (st sandbox.Status) {
	w.t.Helper()
	w.until("nobody uses it", func() bool {
		var err error
		if st, err = w.boxes.Manager().StatusOf(w.t.Context(), w.boxes.Identity("work")); err != nil {
			w.t.Fatal(err)
		}
		return st.Connections == 0 && st.Commands == 0 && st.Idle > 0
	})
	return st
}
