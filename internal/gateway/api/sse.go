package api

import (
	"bytes"
	"context"
	"encoding/json"
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

// eventStream answers with events. It is safe for concurrent use. The answer begins with its first event, so that
// what fails before has the status of a problem.
type eventStream struct {
	mu    sync.Mutex
	out   *outflow
	begun bool
	over  bool   // its last event was sent
	stop  func() // ends the work when nobody takes its events
	soon  *time.Timer
	gone  bool // the answer is over
	err   error
}

// follow answers with the events that work sends, and tells who follows when the gateway ends: then ctx of work is over.
// What work returns is the last event, unless it is nil or nobody is there any more.
func (a *API) follow(w http.ResponseWriter, r *http.Request, work func(ctx context.Context, s *eventStream) error) error {
	return a.tell(w, r, func(ctx context.Context, s *eventStream) error {
		if err := s.open(); err != nil {
			return err
		}
		return work(ctx, s)
	})
}

// tell is follow for work that may fail before there is anything to follow: it opens the stream itself, or by its first
// event, and an error before is an ordinary one.
func (a *API) tell(w http.ResponseWriter, r *http.Request, work func(ctx context.Context, s *eventStream) error) error {
	a.streams.Add(1)
	defer a.streams.Done()
	ctx, stop := context.WithCancel(r.Context())
	s := &eventStream{out: newOutflow(w), stop: stop}
	defer s.close()
	defer context.AfterFunc(a.life, stop)()
	var beside sync.WaitGroup
	beside.Go(func() { s.beat(ctx, stop, a.draining) })
	err := work(ctx, s)
	stop()
	beside.Wait()
	switch {
	case s.over:
		return nil
	case a.isDraining():
		if !s.begun {
			return errDraining
		}
		s.send(client.EventDraining, "", client.Draining{Detail: errDraining.Detail})
		return nil
	case err != nil && !s.begun:
		return err
	case err != nil && r.Context().Err() == nil:
		s.send(client.EventProblem, "", problemOf(err))
	}
	return nil
}

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
			s.write([]byte(":\n\n"))
		}
	}
}

// open begins the answer.
func (s *eventStream) open() error { return s.write(nil) }

// send sends one event. Its id is what who comes back gives as Last-Event-ID; without one that of before stays.
func (s *eventStream) send(name, id string, data any) error {
	text, err := encodeEvent(name, id, data)
	if err != nil {
		return err
	}
	return s.write(text)
}

// together is how long an event may wait for the next one, to travel with it.
const together = 5 * time.Millisecond

// sendSoon sends an event that the next one probably follows at once.
func (s *eventStream) sendSoon(name, id string, data any) error {
	text, err := encodeEvent(name, id, data)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.soon = time.AfterFunc(together, func() { s.open() })
	return s.put(text)
}

func encodeEvent(name, id string, data any) ([]byte, error) {
	var b bytes.Buffer
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("event: " + name + "\ndata: ")
	text := json.NewEncoder(&b) // which ends the line
	text.SetEscapeHTML(false)
	err := text.Encode(data)
	b.WriteByte('\n')
	return b.Bytes(), err
}

// end sends the last event.
func (s *eventStream) end(name, id string, data any) error {
	s.over = true
	return s.send(name, id, data)
}

func (s *eventStream) write(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.put(b) == nil && !s.gone {
		s.err = s.out.control.Flush()
	}
	if s.err != nil {
		s.stop()
	}
	return s.err
}

// put writes without sending, with the lock held. Once the answer is over nothing is written.
func (s *eventStream) put(b []byte) error {
	if s.err != nil || s.gone {
		return s.err
	}
	if !s.begun {
		s.begun = true
		h := s.out.Header()
		h.Set("Content-Type", mediaEvents)
		h.Set("X-Accel-Buffering", "no") // proxies that collect would hold events back
		s.out.WriteHeader(http.StatusOK)
	}
	if len(b) > 0 {
		_, s.err = s.out.Write(b)
	}
	return s.err
}

// close waits for whoever writes, and lets nobody write any more.
func (s *eventStream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	if s.soon != nil {
		s.soon.Stop()
	}
	s.out.end()
}
