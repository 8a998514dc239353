package api_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/client"
)

// Who does not take what he asked for holds nobody up, and loses his place after a while.
func TestASlowReaderLosesHisPlace(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes as long as one may stand still")
	}
	w := newWorld(t).begin()
	ctx := t.Context()
	if r, err := w.task.Exec(ctx, client.Exec{Line: "truncate -s 1G large"}, client.ExecOptions{}); err != nil || r.Code != 0 {
		t.Fatal(r, err)
	}
	p := w.start(client.ProcessRequest{Line: "exec yes", Window: 1 << 20}, "")
	slow := map[string]net.Conn{}
	for name, request := range map[string]string{
		"a file":                      "GET " + route("files", "large") + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"a log":                       "GET /v1/sandboxes/work/processes/" + p.ID + "/log?follow=true HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n",
		"an upload that nobody wants": "PUT " + route("files", "no/such/directory") + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nsome",
		"an upload":                   "PUT " + route("files", "half") + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nsome",
	} {
		conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		slow[name] = conn
	}
	// Meanwhile the process goes on, and others are served.
	before, err := p.Poll(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for after := before; after.LogEnd < before.LogEnd+64<<20; {
		if after, err = p.Poll(ctx); err != nil {
			t.Fatal(err)
		}
	}
	// It does so until the end: what there is of a log that has ended may fit on the way, and then nobody stands still.
	deadline := time.After(90 * time.Second)
	for name, conn := range slow {
		for {
			if _, gone := w.closed.Load(conn.LocalAddr().String()); gone {
				break
			}
			select {
			case <-deadline:
				t.Fatalf("%s: its caller still has his place", name)
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	if _, err := p.Kill(ctx, 0); err != nil {
		t.Error(err)
	}
	if _, err := w.task.Files().Stat(ctx, "half"); err == nil {
		t.Error("half a file is there")
	}
}

// Who follows something is told that the gateway ends, and from where to go on.
func TestWhoFollowsIsToldOfTheEnd(t *testing.T) {
	w := newWorld(t).begin()
	p := w.start(client.ProcessRequest{Line: "echo begun; sleep 300"}, "")
	await(t, p, "begun\n")
	// The answer begins when it is followed.
	follow := func(path string) io.ReadCloser {
		r, err := http.NewRequestWithContext(t.Context(), "GET", w.server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/event-stream")
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil || answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatal(answer, err)
		}
		return answer.Body
	}
	log := follow("/v1/sandboxes/work/processes/" + p.ID + "/log?follow=true")
	defer log.Close()
	events := follow("/v1/sandboxes/work/events")
	defer events.Close()
	const begun = "id: 6\nevent: log\ndata: {\"text\":\"begun\\n\",\"offset\":0}\n\n"
	first := make([]byte, len(begun))
	if _, err := io.ReadFull(log, first); err != nil || string(first) != begun {
		t.Fatalf("%q, %v", first, err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	w.api.Drain(ctx)
	for name, stream := range map[string]io.Reader{"log": log, "events": events} {
		rest, err := io.ReadAll(stream)
		if err != nil || !strings.HasPrefix(string(rest), "event: draining\ndata: {") || strings.Count(string(rest), "event:") != 1 {
			t.Errorf("%s: %q, %v", name, rest, err)
		}
	}
	if ctx.Err() != nil {
		t.Error("it took too long")
	}
}
