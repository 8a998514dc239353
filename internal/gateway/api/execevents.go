package api

import (
	"context"
	"net/http"
	"sync"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

// execEvents runs a command and tells what it writes as it is written.
func (a *API) execEvents(w http.ResponseWriter, r *http.Request, c *running, merge bool) error {
	return a.tell(w, r, func(ctx context.Context, s *eventStream) error {
		p := &pieces{api: a, events: s}
		c.Stdout, c.Stderr = p.stream(client.Stdout), p.stream(client.Stderr)
		if merge {
			c.Stderr = nil
		}
		c.Gap, c.Started = p.gap, func(bool) { p.start(c.ID) }
		if !c.keyed { // it is nobody else's, and so has the time that requests have to finish
			var stop func()
			ctx, stop = a.unlessDraining(r.Context(), false)
			defer stop()
			defer s.announce(ctx, a.draining)()
		}
		result, err := a.run(ctx, c)
		return p.end(result, err)
	})
}

// announce tells once that the gateway ends, of a stream that goes on until its end. The returned function stops it.
func (s *eventStream) announce(ctx context.Context, draining <-chan struct{}) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() {
		select {
		case <-draining:
			s.send(client.EventDraining, "", client.Draining{Detail: "the gateway is ending: this command is ended with it, unless it ends before"})
		case <-ctx.Done():
		}
	})
	return func() { cancel(); beside.Wait() }
}

// followEvents tells what a command writes from where the caller is.
func (a *API) followEvents(w http.ResponseWriter, r *http.Request, id string) error {
	var from client.Position
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		var err error
		if from, err = client.ParsePosition(last); err != nil {
			return bad("cannot go on from there: " + err.Error())
		}
	}
	return a.tell(w, r, func(ctx context.Context, s *eventStream) error {
		p := &pieces{api: a, events: s, at: from}
		var result sandbox.Result
		err := a.use(ctx, r.PathValue("task"), alive, func(box *sandbox.Sandbox) (err error) {
			a.metrics.running.Inc()
			defer a.metrics.running.Dec()
			result, err = box.Follow(ctx, id, sandbox.Following{
				Stdout: p.stream(client.Stdout), Stderr: p.stream(client.Stderr), From: sandbox.Offsets(from),
				Gap: p.gap, Started: func(bool) { p.start(id) },
			})
			return err
		})
		return p.end(result, err)
	})
}

// pieces makes events of what a command writes. All of it comes from one goroutine.
type pieces struct {
	api    *API
	events *eventStream
	at     client.Position
}

func (p *pieces) start(id string) {
	p.events.sendSoon(client.EventStarted, p.at.String(), client.ExecStarted{ID: id})
}

// end sends the last event, or returns why there is none.
func (p *pieces) end(result sandbox.Result, err error) error {
	if err != nil {
		return err
	}
	return p.events.end(client.EventExit, p.at.String(), result)
}

// offset is where the next byte of a stream is.
func (p *pieces) offset(s client.Stream) *int64 {
	if s == client.Stderr {
		return &p.at.Stderr
	}
	return &p.at.Stdout
}

func (p *pieces) gap(isStderr bool, n int64) {
	s := client.Stdout
	if isStderr {
		s = client.Stderr
	}
	offset := p.offset(s)
	gap := client.ExecGap{Stream: s, Offset: *offset, Bytes: n}
	*offset += n
	p.events.send(client.EventGap, p.at.String(), gap)
}

// stream is what one stream of the command is written to. Who does not take it gets no more of it: a command under a
// key goes on, and any other one ends.
func (p *pieces) stream(s client.Stream) writer {
	return func(b []byte) (int, error) {
		offset := p.offset(s)
		chunk := client.ExecChunk{Stream: s, Offset: *offset}
		chunk.Text, chunk.Base64 = textOrBytes(b)
		*offset += int64(len(b))
		p.api.metrics.output.Add(float64(len(b)))
		return len(b), p.events.send(client.EventOutput, p.at.String(), chunk)
	}
}

// writer is a function that something is written to.
type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
