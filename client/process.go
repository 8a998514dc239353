package client

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"hermes.example/hermes/sandbox"
)

// Process is a background process of a sandbox, which any caller finds by its id.
type Process struct {
	// ID names it for ever.
	ID   string
	task *Task
}

// Start starts a background process. With a key it is started at most once, however often it is asked for; a client
// that does not know whether it was should ask again with the same one.
func (t *Task) Start(ctx context.Context, r ProcessRequest, key string) (*Process, ProcessAnswer, error) {
	k := call{method: http.MethodPost, path: t.route("processes"), json: r}
	if key != "" {
		k.header = http.Header{IdempotencyKey: {key}}
	}
	var a ProcessAnswer
	if err := t.client.ask(ctx, k, &a); err != nil {
		return nil, a, err
	}
	return t.Process(a.Process.ID), a, nil
}

// Process returns the process of an id, which the sandbox need not have.
func (t *Task) Process(id string) *Process { return &Process{id, t} }

// Processes lists the background processes that are kept, in the order of their start.
func (t *Task) Processes(ctx context.Context) ([]sandbox.ProcessInfo, error) {
	var l ProcessList
	err := t.client.ask(ctx, call{method: http.MethodGet, path: t.route("processes")}, &l)
	return l.Processes, err
}

func (p *Process) call(method string, parts ...string) call {
	return call{method: method, path: p.task.route(append([]string{"processes", p.ID}, parts...)...)}
}

// Poll tells what is known of the process now.
func (p *Process) Poll(ctx context.Context) (sandbox.ProcessInfo, error) {
	var i sandbox.ProcessInfo
	err := p.task.client.ask(ctx, p.call(http.MethodGet), &i)
	return i, err
}

// Kill ends the process and everything that it has started: all are asked to end, and killed if they have not after
// the grace. It returns when they are gone.
func (p *Process) Kill(ctx context.Context, grace time.Duration) (sandbox.Result, error) {
	k := p.call(http.MethodDelete)
	if grace != 0 {
		k.query = url.Values{"grace": {strconv.FormatFloat(grace.Seconds(), 'f', -1, 64)}}
	}
	var r sandbox.Result
	err := p.task.client.ask(ctx, k, &r)
	return r, err
}

// Signal sends a signal to the process and its process group. Its number is the one that Linux has for it.
func (p *Process) Signal(ctx context.Context, number int) error {
	k := p.call(http.MethodPost, "signal")
	k.json = SignalRequest{number}
	return p.task.client.ask(ctx, k, nil)
}

// Write writes to the process's standard input, and waits until it was taken. An error may leave open how much of it
// was.
func (p *Process) Write(ctx context.Context, data []byte) (int, error) {
	w, err := p.input(ctx, data, false)
	return int(w.Bytes), err
}

// CloseInput ends the process's standard input.
func (p *Process) CloseInput(ctx context.Context) error {
	_, err := p.input(ctx, nil, true)
	return err
}

func (p *Process) input(ctx context.Context, data []byte, end bool) (Written, error) {
	k := p.call(http.MethodPost, "input")
	k.body, k.header = bytes.NewReader(data), http.Header{"Content-Type": {"application/octet-stream"}}
	k.query = url.Values{"close": {strconv.FormatBool(end)}}
	var w Written
	err := p.task.client.ask(ctx, k, &w)
	return w, err
}

// Wait waits for the process to end.
func (p *Process) Wait(ctx context.Context) (sandbox.Result, error) {
	for wait := newBackoff(p.task.client.patience); ; {
		var a WaitAnswer
		err := p.task.client.ask(ctx, p.call(http.MethodPost, "wait"), &a)
		switch {
		case ctx.Err() != nil:
			return sandbox.Result{}, ctx.Err()
		case temporary(err):
			if !wait.next(ctx, err) {
				return sandbox.Result{}, err
			}
		case err != nil:
			return sandbox.Result{}, err
		case a.Ended && a.Process.Result != nil:
			return *a.Process.Result, nil
		case a.Ended:
			return sandbox.Result{}, errors.New("cannot tell how the process ended: the gateway does not say it")
		default:
			wait.renew()
		}
	}
}

// Events yields what happened to background processes of the sandbox after the event of the number since, and then
// what happens, until ctx is over or the caller stops. The error is the last that is yielded.
func (t *Task) Events(ctx context.Context, since uint64) iter.Seq2[sandbox.Event, error] {
	return func(yield func(sandbox.Event, error) bool) {
		s := &stream{client: t.client, call: call{method: http.MethodGet, path: t.route("events")}, last: strconv.FormatUint(since, 10)}
		err := s.each(ctx, func(e event) (bool, error) {
			var happened sandbox.Event
			if e.name == EventDraining {
				return false, nil
			}
			if err := decode(e, &happened); err != nil {
				return false, err
			}
			return !yield(happened, nil), nil
		})
		if err != nil {
			yield(sandbox.Event{}, err)
		}
	}
}

// PastEvents returns the events after the number since that there are already.
func (t *Task) PastEvents(ctx context.Context, since uint64) ([]sandbox.Event, error) {
	var l EventList
	k := call{method: http.MethodGet, path: t.route("events"), query: url.Values{"since": {strconv.FormatUint(since, 10)}}}
	err := t.client.ask(ctx, k, &l)
	return l.Events, err
}
