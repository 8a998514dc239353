package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

// start starts a process, and ends it with the test.
func (w *world) start(r client.ProcessRequest, key string) *client.Process {
	w.t.Helper()
	p, _, err := w.task.Start(w.t.Context(), r, key)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func TestABackgroundProcessFromItsStartToItsEnd(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	p := w.start(client.ProcessRequest{Line: "while read -r line; do echo got $line; done; echo end; exit 4", Input: true, Name: "reader", Env: map[string]string{"X": "y"}}, "")
	if n, err := p.Write(ctx, []byte("one\ntwo\n")); n != 8 || err != nil {
		t.Fatal(n, err)
	}
	if info, err := p.Poll(ctx); err != nil || info.State != sandbox.ProcessRunning || info.Name != "reader" || !info.Input {
		t.Errorf("%+v, %v", info, err)
	}
	if all, err := w.task.Processes(ctx); err != nil || len(all) != 1 || all[0].ID != p.ID {
		t.Errorf("%+v, %v", all, err)
	}
	if err := p.CloseInput(ctx); err != nil {
		t.Fatal(err)
	}
	if r, err := p.Wait(ctx); err != nil || r.Code != 4 {
		t.Errorf("%+v, %v", r, err)
	}
	var log bytes.Buffer
	part, err := p.Logs(ctx, sandbox.LogOptions{}, &log)
	if err != nil || log.String() != "got one\ngot two\nend\n" || part.Offset != 0 || part.Next != int64(log.Len()) || part.Process.State != sandbox.ProcessExited {
		t.Errorf("%q, %+v, %v", log.String(), part, err)
	}
	if _, err := p.Write(ctx, []byte("x")); !errors.Is(err, sandbox.ErrRefused) {
		t.Errorf("one that has ended takes input: %v", err)
	}
}

func TestAKillEndsTheWholeTreeOfAProcess(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	p := w.start(client.ProcessRequest{Line: "setsid sleep 4242 & trap 'echo asked' USR1; echo began; while :; do sleep 0.05; done"}, "")
	await(t, p, "began\n")
	if err := p.Signal(ctx, 10); err != nil {
		t.Fatal(err)
	}
	await(t, p, "asked\n")
	if r, err := p.Kill(ctx, 200*time.Millisecond); err != nil || r.Reason != sandbox.Killed || len(r.Survivors) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	var left bytes.Buffer
	if _, err := w.task.Exec(ctx, client.Exec{Line: "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '"}, client.ExecOptions{Stdout: &left}); err != nil || strings.Contains(left.String(), "sleep 4242") {
		t.Errorf("there is still %q, %v", left.String(), err)
	}
}

// await follows a log until it has a text.
func await(t *testing.T, p *client.Process, text string) {
	t.Helper()
	ctx, found := context.WithTimeout(t.Context(), 20*time.Second)
	defer found()
	var log bytes.Buffer
	p.Logs(ctx, sandbox.LogOptions{Follow: true}, writerFunc(func(b []byte) (int, error) {
		log.Write(b)
		if strings.Contains(log.String(), text) {
			found()
		}
		return len(b), nil
	}))
	if !strings.Contains(log.String(), text) {
		t.Fatalf("the log is %q", log.String())
	}
}

func TestTheSameKeyStartsOneProcess(t *testing.T) {
	w := newWorld(t)
	ids := map[string]bool{}
	for range 3 {
		ids[w.start(client.ProcessRequest{Line: "echo x >>starts; sleep 300"}, "server").ID] = true
	}
	other := w.start(client.ProcessRequest{Line: "sleep 300"}, "another")
	if len(ids) != 1 || ids[other.ID] {
		t.Errorf("the ids are %v and %s", ids, other.ID)
	}
	if all, err := w.task.Processes(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("%d processes, %v", len(all), err)
	}
}

// Another command under a key that was used is refused, and never taken for the one that has it.
func TestAKeyOfAProcessIsForOneCommand(t *testing.T) {
	w := newWorld(t)
	first := w.start(client.ProcessRequest{Line: "sleep 300"}, "server")
	if p, _, err := w.task.Start(t.Context(), client.ProcessRequest{Line: "sleep 301"}, "server"); !errors.Is(err, sandbox.ErrIDReused) {
		t.Errorf("another command under the key of %s: %+v, %v", first.ID, p, err)
	}
	const body = `{"line":"sleep 300"}`
	for _, key := range []string{"a b", "\xff", strings.Repeat("x", 129)} {
		w.refused(client.CodeBadRequest, "POST", "/v1/sandboxes/work/processes", strings.NewReader(body), "Content-Type", "application/json", client.IdempotencyKey, key)
	}
	if all, err := w.task.Processes(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%d processes, %v", len(all), err)
	}
}

// A log that is followed through broken connections is the same byte for byte, while it is written.
func TestABrokenLogGoesOnWhereItWas(t *testing.T) {
	w := newWorld(t).begin()
	through := &world{t: t, server: w.server}
	c := through.cut(10, 30_000)
	started := w.start(client.ProcessRequest{Line: `for i in $(seq 1 300); do printf '%s\376 %0500d\n' $i $i; done; sleep 0.3; echo end`}, "log")
	p := through.task.Process(started.ID)
	var log bytes.Buffer
	part, err := p.Logs(t.Context(), sandbox.LogOptions{Follow: true}, &log)
	var want strings.Builder
	for i := 1; i <= 300; i++ {
		fmt.Fprintf(&want, "%d\xfe %0500d\n", i, i)
	}
	want.WriteString("end\n")
	if err != nil || log.String() != want.String() || part.Missed != 0 || part.Next != int64(want.Len()) || part.Process.State != sandbox.ProcessExited {
		t.Errorf("%d of %d bytes, %+v, %v", log.Len(), want.Len(), part, err)
	}
	if c.cuts.Load() < 3 {
		t.Errorf("only %d connections were cut", c.cuts.Load())
	}
}

func TestAPartOfALog(t *testing.T) {
	w := newWorld(t)
	p := w.start(client.ProcessRequest{Line: "seq 1 1000"}, "")
	if _, err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	log := "/v1/sandboxes/work/processes/" + p.ID + "/log"
	for query, want := range map[string]string{
		"?limit=6":           `{"text":"1\n2\n3\n","offset":0,"next":6,`,
		"?offset=4&limit=4":  `{"text":"3\n4\n","offset":4,"next":8,`,
		"?lines=2":           `{"text":"999\n1000\n","offset":3884,"next":3893,`,
		"?offset=-5":         `{"text":"1000\n","offset":3888,"next":3893,`,
		"?offset=3893":       `{"offset":3893,"next":3893,`,
		"?offset=1000000000": `{"offset":3893,"next":3893,`,
	} {
		answer, body := w.ask("GET", log+query, nil)
		if answer.StatusCode != 200 || !strings.HasPrefix(body, want) {
			t.Errorf("%s: %d %.120s", query, answer.StatusCode, body)
		}
	}
	for _, query := range []string{"?limit=0", "?limit=99999999999", "?lines=-1", "?follow=true", "?offset=x"} {
		w.refused(client.CodeBadRequest, "GET", log+query, nil)
	}
	w.refused(client.CodeBadRequest, "GET", log, nil, "Accept", "text/event-stream", "Last-Event-ID", "soon")
	// A small part of a log that is still written does not wait for its end.
	running := w.start(client.ProcessRequest{Line: "echo begun; sleep 300"}, "")
	await(t, running, "begun\n")
	var part bytes.Buffer
	if _, err := running.Logs(t.Context(), sandbox.LogOptions{}, &part); err != nil || part.String() != "begun\n" {
		t.Errorf("%q, %v", part.String(), err)
	}
}

func TestBadRequestsAboutProcessesAreRefused(t *testing.T) {
	w := newWorld(t).begin()
	const all = "/v1/sandboxes/work/processes"
	for _, r := range []struct{ method, path string }{{"GET", ""}, {"DELETE", ""}, {"POST", "/input"}, {"POST", "/wait"}, {"GET", "/log"}} {
		w.refused(client.CodeNoProcess, r.method, all+"/proc_000000000000"+r.path, nil)
	}
	w.refused(client.CodeNoProcess, "GET", all+"/proc_000000000000/log", nil, "Accept", "text/event-stream")
	for body, code := range map[string]client.Code{
		`{}`:                            client.CodeBadRequest,
		`{"line":"x","argv":["x"]}`:     client.CodeBadRequest,
		`{"line":"x","name":"proc_x"}`:  client.CodeUnprocessable,
		`{"line":"x","watch":["("]}`:    client.CodeUnprocessable,
		`{"argv":["/no/such/program"]}`: client.CodeUnprocessable,
		`{"line":"x","timeout":-1}`:     client.CodeBadRequest,
		`{"line":"x","unknown":1}`:      client.CodeBadRequest,
		`{"line":1}`:                    client.CodeBadRequest,
		`[]`:                            client.CodeBadRequest,
	} {
		w.refused(code, "POST", all, strings.NewReader(body), "Content-Type", "application/json")
	}
	p := w.start(client.ProcessRequest{Line: "sleep 300"}, "")
	for body, code := range map[string]client.Code{`{"signal":0}`: client.CodeBadRequest, `{"signal":65}`: client.CodeBadRequest, `{"signal":"TERM"}`: client.CodeBadRequest} {
		w.refused(code, "POST", all+"/"+p.ID+"/signal", strings.NewReader(body), "Content-Type", "application/json")
	}
	w.refused(client.CodeTooLarge, "POST", all+"/"+p.ID+"/input", bytes.NewReader(make([]byte, 17<<20)))
	w.refused(client.CodeUnprocessable, "POST", all+"/"+p.ID+"/input", strings.NewReader("x"))
	// Who waits gets an answer in time.
	if answer, body := w.ask("POST", all+"/"+p.ID+"/wait?timeout=0.1", nil); answer.StatusCode != http.StatusOK || !strings.HasPrefix(body, `{"ended":false,`) {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
}

// Events come in order and once, also to who was away.
func TestEventsOfProcesses(t *testing.T) {
	w := newWorld(t).begin()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	w.start(client.ProcessRequest{Line: "echo server is ready; sleep 300", Watch: []string{"is ready$"}, Name: "server"}, "")
	var first sandbox.Event
	for e, err := range w.task.Events(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		first = e
		break
	}
	if first.Kind != sandbox.EventMatch || first.Line != "server is ready" || first.Name != "server" {
		t.Errorf("%+v", first)
	}
	p := w.start(client.ProcessRequest{Line: "exit 9", Notify: true}, "")
	if _, err := p.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	through := &world{t: t, server: w.server}
	through.cut(2, 300)
	for e, err := range through.task.Events(ctx, first.Number) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Number != first.Number+1 || e.Kind != sandbox.EventExit || e.Process != p.ID || e.Result.Code != 9 {
			t.Errorf("%+v", e)
		}
		break
	}
	past, err := w.task.PastEvents(ctx, 0)
	if err != nil || len(past) != 2 || past[0].Number != first.Number {
		t.Errorf("%+v, %v", past, err)
	}
	w.refused(client.CodeBadRequest, "GET", "/v1/sandboxes/work/events?since=-1", nil)
	for _, err := range w.task.Events(cancelled(ctx), 0) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
}

func cancelled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}
