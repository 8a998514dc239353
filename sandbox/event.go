package sandbox

import (
	"context"
	"iter"
	"time"

	"hermes.example/hermes/internal/wire"
)

// EventKind says what happened.
type EventKind string

// The kinds.
const (
	// EventMatch is a line of output that a watch pattern matches.
	EventMatch = EventKind(wire.EventMatch)
	// EventExit is the end of a process that was started with Notify.
	EventExit = EventKind(wire.EventExit)
	// EventUnwatched says that no more lines of a process will be told.
	EventUnwatched = EventKind(wire.EventUnwatched)
	// EventPaused says that for some time no lines of any process will be told.
	EventPaused = EventKind(wire.EventPaused)
	// EventGap stands for events that are no longer kept.
	EventGap = EventKind(wire.EventGap)
)

// Event is something that happened to a background process.
type Event struct {
	// Number grows by one from event to event, also from one run of the sandbox
	// to the next. A gap has that of the last event that it stands for.
	Number  uint64    `json:"number"`
	Time    time.Time `json:"time"`
	Kind    EventKind `json:"kind"`
	Process string    `json:"process,omitempty"`
	Name    string    `json:"name,omitempty"`
	// Pattern and Line are of a match; Held is how many matches before it were
	// not told.
	Pattern string `json:"pattern,omitempty"`
	Line    string `json:"line,omitempty"`
	Held    int    `json:"held,omitempty"`
	// Result is how a process ended.
	Result *Result `json:"result,omitempty"`
	// Missed is how many events a gap stands for.
	Missed  uint64 `json:"missed,omitempty"`
	Message string `json:"message,omitempty"`
}

// Events yields what happened to background processes after the event of the
// number since, and then what happens, until ctx is over or the caller stops. The
// last 256 events are kept: a caller that was away misses none of them, and is
// told of a gap before them. The error is the last that is yielded.
func (s *Sandbox) Events(ctx context.Context, since uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		stopped := false
		err := s.events(ctx, since, true, func(e Event) bool {
			stopped = !yield(e, nil)
			return !stopped
		})
		if err != nil && !stopped {
			yield(Event{}, err)
		}
	}
}

// PastEvents returns the events after the number since that there are already.
func (s *Sandbox) PastEvents(ctx context.Context, since uint64) ([]Event, error) {
	all := []Event{}
	err := s.events(ctx, since, false, func(e Event) bool {
		all = append(all, e)
		return true
	})
	return all, err
}

func (s *Sandbox) events(ctx context.Context, since uint64, follow bool, take func(Event) bool) error {
	return dialogue{box: s, what: "read the events", kind: wire.TypeEvents,
		request: func() any { return wire.Events{Since: since, Follow: follow} },
		answer: func(f wire.Frame) (bool, error) {
			if f.Type != wire.TypeEvent {
				return true, nil
			}
			var e wire.Event
			if err := f.Decode(&e); err != nil {
				return true, err
			}
			since = e.Number
			return !take(publicEvent(e)), nil
		}}.run(ctx)
}

func publicEvent(e wire.Event) Event {
	event := Event{Number: e.Number, Time: e.Time, Kind: EventKind(e.Kind), Process: e.Process, Name: e.Name,
		Pattern: e.Pattern, Line: e.Line, Held: e.Held, Missed: e.Missed, Message: e.Message}
	if e.Exit != nil {
		r := publicResult(e.Process, *e.Exit)
		event.Result = &r
	}
	return event
}
