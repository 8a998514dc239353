package guest

import (
	"bytes"
	"encoding/json"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/wire"
)

// events is what happened to background processes, numbered. The last ones are
// kept, in memory and in a file of the spool: who was away, or finds another guest
// than it left, goes on after the last one that it saw.
type events struct {
	spool *os.File

	mu      sync.Mutex
	changed sync.Cond
	kept    []wire.Event
	last    uint64 // number of the newest
	file    *os.File
	lines   int // in the file
}

const (
	eventsName = "events"
	keptEvents = 256
	// maxEventLines is when the file is written anew with what is kept.
	maxEventLines = 4 * keptEvents
)

// openEvents reads what earlier guests left. Without a directory, or on one that
// cannot be written, events last as long as the guest.
func openEvents(spool *os.File) *events {
	e := &events{spool: spool}
	e.changed.L = &e.mu
	if spool == nil {
		return e
	}
	fd, err := unix.Openat(int(spool.Fd()), eventsName, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return e
	}
	f := os.NewFile(uintptr(fd), eventsName)
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return e
	}
	data := make([]byte, info.Size())
	n, _ := f.ReadAt(data, 0)
	for line := range bytes.Lines(data[:n]) {
		var event wire.Event
		if json.Unmarshal(line, &event) == nil && event.Number > e.last {
			e.keep(event)
		}
	}
	return e
}

func (e *events) keep(event wire.Event) {
	e.last = event.Number
	e.kept = append(e.kept, event)
	if over := len(e.kept) - keptEvents; over > 0 {
		e.kept = append(e.kept[:0], e.kept[over:]...)
	}
}

// add tells of something that happened.
func (e *events) add(event wire.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	event.Number, event.Time = e.last+1, time.Now().UTC()
	e.keep(event)
	e.changed.Broadcast()
	if e.file != nil && e.lines < maxEventLines {
		e.lines++
		e.file.Write(eventLine(event))
		return
	}
	e.rewrite()
}

func eventLine(event wire.Event) []byte {
	line, err := json.Marshal(event)
	if err != nil {
		return nil // it holds nothing that JSON has not
	}
	return append(line, '\n')
}

// rewrite makes a new file of what is kept, which takes the old one's place when
// it is complete. Every guest begins so: a line that an earlier one could not end
// must not take the next along.
func (e *events) rewrite() {
	if e.spool == nil {
		return
	}
	const next = eventsName + ".new"
	fd, err := unix.Openat(int(e.spool.Fd()), next, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_APPEND|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return
	}
	if e.file != nil {
		e.file.Close()
	}
	e.file, e.lines = os.NewFile(uintptr(fd), eventsName), len(e.kept)
	var all []byte
	for _, event := range e.kept {
		all = append(all, eventLine(event)...)
	}
	if _, err = e.file.Write(all); err == nil {
		err = unix.Renameat(int(e.spool.Fd()), next, int(e.spool.Fd()), eventsName)
	}
	if err != nil {
		e.lines = maxEventLines // the next event tries again
	}
}

// subscriber is one caller's place among the events.
type subscriber struct {
	events *events
	since  uint64
	closed bool
}

// next returns the next event, or a gap where it is no longer kept. With wait it
// waits for it; ok is false when there is none, or the subscriber was closed.
func (s *subscriber) next(wait bool) (event wire.Event, ok bool) {
	e := s.events
	e.mu.Lock()
	defer e.mu.Unlock()
	for s.since >= e.last && wait && !s.closed {
		e.changed.Wait()
	}
	if s.closed || s.since >= e.last {
		return wire.Event{}, false
	}
	first := e.kept[0].Number
	if s.since+1 < first {
		gap := wire.Event{Kind: wire.EventGap, Number: first - 1, Time: e.kept[0].Time, Missed: first - 1 - s.since,
			Message: "events that are no longer kept"}
		s.since = first - 1
		return gap, true
	}
	s.since++
	return e.kept[s.since-first], true
}

// close wakes the subscriber.
func (s *subscriber) close() {
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	s.closed = true
	s.events.changed.Broadcast()
}
