package api

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"hermes.example/hermes/client"
)

// beat is how often a stream of events that has nothing to say says that it is there.
const beat = 15 * time.Second

// wantsEvents says whether a request asks for a stream of events.
func wantsEvents(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		if media, _, err := mime.ParseMediaType(part); err == nil && media == mediaEvents {
			return true
		}
	}
	return false
}

// eventStream answers with events. It is safe for concurrent use.
type eventStream struct {
	out *outflow

	mu    sync.Mutex
	begun bool
	err   error
}

// follow answers with the events that work sends, and tells who follows when the gateway ends: then ctx of work is over.
// What work returns is the answer, or the last event where there were some, unless it is nil or nobody is there any more.
func (a *API) follow(w http.ResponseWriter, r *http.Request, work func(ctx context.Context, s *eventStream) error) error {
	s := &eventStream{out: newOutflow(w)}
	defer s.out.end()
	a.streams.Add(1)
	defer a.streams.Done()
	ctx, stop := context.WithCancel(r.Context())
	var beside sync.WaitGroup
	beside.Go(func() { s.beat(ctx, stop, a.draining) })
	err := work(ctx, s)
	stop()
	beside.Wait()
	select {
	case <-a.draining:
		s.send(client.EventDraining, "", client.Draining{Detail: "the gateway is ending: ask again from the last event on"})
		return nil
	default:
	}
	if err != nil && !s.begun {
		return err
	}
	if err != nil && r.Context().Err() == nil {
		s.send(client.EventProblem, "", problemOf(err))
	}
	return nil
}

// begin answers, before there is an event: who asked knows then that it is followed.
func (s *eventStream) begin() { s.write([]byte(":\n\n")) }

// beat keeps an idle connection alive, finds out that nobody is there, and ends the work when the gateway ends.
func (s *eventStream) beat(ctx context.Context, stop func(), draining <-chan struct{}) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-draining:
			stop()
			return
		case <-ticker.C:
			if s.write([]byte(":\n\n")) != nil {
				stop()
				return
			}
		}
	}
}

// send sends one event. Its id is what who comes back gives as Last-Event-ID; without one that of before stays.
func (s *eventStream) send(name, id string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	var b []byte
	if id != "" {
		b = fmt.Appendf(b, "id: %s\n", id)
	}
	b = fmt.Appendf(b, "event: %s\ndata: %s\n\n", name, text)
	return s.write(b)
}

func (s *eventStream) write(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.begun = true
		s.out.Header().Set("Content-Type", mediaEvents)
		s.out.Header().Set("X-Accel-Buffering", "no") // proxies that collect would hold events back
	}
	if s.err == nil {
		if _, s.err = s.out.Write(b); s.err == nil {
			s.err = s.out.control.Flush()
		}
	}
	return s.err
}
