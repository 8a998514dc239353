package api_test

import (
	"context"
	"encoding/json"
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, w.server.URL+"/v1/sandboxes/work/attach", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
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
