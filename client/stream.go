package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

// stream is a request that is answered by events, and asked again from the last of them where it breaks.
type stream struct {
	client *Client
	call   call
	// again is what to ask after the first event; nil means the same.
	again *call
	// last is the id of the last event that was handled, begun that there was one.
	last  string
	begun bool
}

// errCut is a stream that ended without its last event.
var errCut = errors.New("the stream of the gateway ended before its end")

// each hands on the events until one of them is the last.
func (s *stream) each(ctx context.Context, handle func(event) (last bool, err error)) error {
	return s.client.again(ctx, func(renew func()) (bool, error) {
		return s.once(ctx, func(e event) (bool, error) {
			renew()
			last, err := handle(e)
			if err != nil {
				return false, &final{err}
			}
			s.last, s.begun = e.id, true
			return last, nil
		})
	})
}

// again does something that a broken connection may end before it is done, for as long as the client's patience lasts.
// What was done of it renews that.
func (c *Client) again(ctx context.Context, do func(renew func()) (done bool, err error)) error {
	for wait := newBackoff(c.patience); ; {
		done, err := do(wait.renew)
		var f *final
		switch {
		case done:
			return nil
		case errors.As(err, &f):
			return f.error
		case ctx.Err() != nil:
			return ctx.Err()
		case !temporary(err):
			return err
		case !wait.next(ctx, err):
			return fmt.Errorf("cannot follow the stream: %w", err)
		}
	}
}

// final is what asking again does not mend.
type final struct{ error }

// once reads one connection's part.
func (s *stream) once(ctx context.Context, handle func(event) (bool, error)) (bool, error) {
	k := s.call
	if s.begun && s.again != nil {
		k = *s.again
	}
	k.accept = "text/event-stream"
	if s.last != "" {
		k.header = k.header.Clone()
		if k.header == nil {
			k.header = http.Header{}
		}
		k.header.Set("Last-Event-ID", s.last)
	}
	answer, err := s.client.send(ctx, k)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	events := newEvents(answer.Body)
	events.id = s.last
	for {
		e, err := events.next()
		if err == io.EOF {
			return false, errCut
		}
		if err != nil {
			return false, err
		}
		if e.name == EventProblem {
			return false, problemOf(e)
		}
		if last, err := handle(e); last || err != nil {
			return last, err
		}
	}
}

// problemOf is the error that a stream ends with.
func problemOf(e event) error {
	problem := &Error{}
	if err := decode(e, &problem.Problem); err != nil {
		return &final{err}
	}
	return problem
}

// decode reads the data of an event.
func decode(e event, into any) error {
	if err := json.Unmarshal(e.data, into); err != nil {
		return fmt.Errorf("cannot understand the event %q: %w", e.name, err)
	}
	return nil
}

// backoff is how long to wait from one attempt to the next, and when to give up.
type backoff struct {
	patience, wait time.Duration
	until          time.Time
}

const (
	firstWait = 50 * time.Millisecond
	mostWait  = 2 * time.Second
)

func newBackoff(patience time.Duration) *backoff {
	b := &backoff{patience: patience}
	b.renew()
	return b
}

// renew begins anew: something was done.
func (b *backoff) renew() { b.wait, b.until = firstWait, time.Now().Add(b.patience) }

// next waits for the next attempt, at least as long as the gateway wants, and says whether there is to be one.
func (b *backoff) next(ctx context.Context, err error) bool {
	wait := b.wait/2 + rand.N(b.wait)
	if e := (*Error)(nil); errors.As(err, &e) && e.RetryAfter > wait {
		wait = e.RetryAfter
	}
	b.wait = min(2*b.wait, mostWait)
	if time.Now().Add(wait).After(b.until) {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(wait):
		return true
	}
}
