package guest

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"hermes.example/hermes/internal/wire"
)

// serveBackground answers the requests about background processes.
func (s *Server) serveBackground(stream net.Conn, r *wire.Reader, w *wire.Writer, frame wire.Frame) {
	switch frame.Type {
	case wire.TypeStart:
		answer(w, frame, func(req wire.Start) { s.serveStart(w, req) })
	case wire.TypeProcesses:
		s.serveProcesses(w)
	case wire.TypeLog:
		answer(w, frame, func(req wire.Log) { s.serveLog(stream, r, w, req) })
	case wire.TypeInput:
		answer(w, frame, func(req wire.Input) { s.serveInput(w, req) })
	case wire.TypeWait:
		answer(w, frame, func(req wire.Wait) { s.serveWait(stream, r, w, req) })
	case wire.TypeEvents:
		answer(w, frame, func(req wire.Events) { s.serveEvents(stream, r, w, req) })
	}
}

// serveStart starts a background process, or finds the one that has its id.
func (s *Server) serveStart(w *wire.Writer, req wire.Start) {
	c, failure := s.newBackground(req)
	known := false
	if failure == nil {
		c, known, failure = s.begin(c)
	}
	if failure == nil && c.background == nil {
		failure = &wire.Failure{Code: wire.FailureBadRequest, Message: "the id is that of a command"}
	}
	if failure != nil {
		w.WriteMessage(wire.TypeError, failure)
		return
	}
	if !known {
		s.launch(c)
		close(c.ready)
	}
	<-c.ready
	w.WriteMessage(wire.TypeProcess, c.describe())
}

func (s *Server) serveProcesses(w *wire.Writer) {
	s.forget(s.registry.expire(time.Now()))
	all := wire.Processes{Processes: []wire.Process{}}
	for _, c := range s.registry.list() {
		all.Processes = append(all.Processes, c.describe())
	}
	if err := w.WriteMessage(wire.TypeProcesses, all); errors.Is(err, wire.ErrMessageTooLarge) {
		fail(w, wire.FailureInternal, "the list of background processes is too long")
	}
}

// process finds a background process, or says that there is none.
func (s *Server) process(w *wire.Writer, id string) *command {
	s.mu.Lock()
	c := s.commands[id]
	s.mu.Unlock()
	if c == nil || c.background == nil {
		w.WriteMessage(wire.TypeError, unknownProcess(id))
		return nil
	}
	<-c.ready
	return c
}

// serveLog sends a log from where the caller wants it.
func (s *Server) serveLog(stream net.Conn, r *wire.Reader, w *wire.Writer, req wire.Log) {
	c := s.process(w, req.ID)
	if c == nil {
		return
	}
	if c.stdout == nil { // it never started
		w.QueueMessage(wire.TypeLog, wire.Log{ID: req.ID})
		w.WriteMessage(wire.TypeProcess, c.describe())
		return
	}
	_, end := c.stdout.bounds()
	f := c.stdout.follow(c.stdout.place(req))
	defer f.Close()
	if w.WriteMessage(wire.TypeLog, wire.Log{ID: req.ID, Offset: f.offset}) != nil {
		return
	}
	// What children of an ended process went on to write belongs to its log, too.
	limit := func() int64 { return end }
	if req.Follow && c.exit.Load() == nil {
		limit = c.limit(false)
	}
	defer whenGone(stream, r, f.Close)()
	copyOut(f, limit, w, new(sync.Mutex), wire.TypeStdout)
	if req.Follow {
		if c.exit.Load() == nil {
			return // it is the caller who is gone
		}
		<-c.done
	}
	w.WriteMessage(wire.TypeProcess, c.describe())
}

// whenGone calls f when the caller hangs up. The returned function ends the
// stream, and with it the wait for that.
func whenGone(stream net.Conn, r *wire.Reader, f func()) (end func()) {
	left := make(chan struct{})
	go func() {
		defer close(left)
		for {
			if _, err := r.Next(); err != nil {
				f()
				return
			}
		}
	}()
	return func() {
		stream.Close()
		<-left
	}
}

// serveWait answers when the process has ended.
func (s *Server) serveWait(stream net.Conn, r *wire.Reader, w *wire.Writer, req wire.Wait) {
	c := s.process(w, req.ID)
	if c == nil {
		return
	}
	if req.Now {
		w.WriteMessage(wire.TypeProcess, c.describe())
		return
	}
	gone := make(chan struct{})
	defer whenGone(stream, r, sync.OnceFunc(func() { close(gone) }))()
	select {
	case <-c.done:
		w.WriteMessage(wire.TypeProcess, c.describe())
	case <-gone:
	}
}

// inputPatience is how long a process may take to read its input before the caller
// is told how much of it was taken.
const inputPatience = 500 * time.Millisecond

func (s *Server) serveInput(w *wire.Writer, req wire.Input) {
	c := s.process(w, req.ID)
	if c == nil {
		return
	}
	n, err := c.takeBackgroundInput(req.Data)
	if err != nil {
		fail(w, wire.FailureBadRequest, err.Error())
		return
	}
	if req.Close && n == len(req.Data) {
		c.closeStdin()
	}
	w.WriteMessage(wire.TypeTaken, wire.Taken{Bytes: n})
}

var (
	errNoInput     = errors.New("the process reads no input: it was started without one, its input was closed, or it has ended")
	errInputUnread = errors.New("the process has closed its input")
)

// takeBackgroundInput writes to the process's pipe what that takes in time. One
// caller does so at a time.
func (c *command) takeBackgroundInput(p []byte) (int, error) {
	c.background.inputMu.Lock()
	defer c.background.inputMu.Unlock()
	c.stdinMu.Lock()
	f := c.stdin
	c.stdinMu.Unlock()
	if f == nil {
		return 0, errNoInput
	}
	f.SetWriteDeadline(time.Now().Add(inputPatience))
	defer f.SetWriteDeadline(time.Time{})
	n, err := f.Write(p)
	switch {
	case err == nil, errors.Is(err, os.ErrDeadlineExceeded):
		return n, nil
	case errors.Is(err, os.ErrClosed):
		return n, errNoInput
	}
	return n, errInputUnread
}

// serveEvents sends the events that the caller has not seen.
func (s *Server) serveEvents(stream net.Conn, r *wire.Reader, w *wire.Writer, req wire.Events) {
	sub := &subscriber{events: s.events, since: req.Since}
	defer whenGone(stream, r, sub.close)()
	for {
		event, ok := sub.next(req.Follow)
		if !ok {
			break
		}
		if w.WriteMessage(wire.TypeEvent, event) != nil {
			return
		}
	}
	w.Write(wire.TypeOK, nil)
}
