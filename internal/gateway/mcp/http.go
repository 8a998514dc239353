package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// mostSessions is how many clients a door has at a time over HTTP. Each costs a session in the sandbox.
	mostSessions = 256
	// sessionIdle is how long a client may say nothing before its session ends.
	sessionIdle = time.Hour
	// abandonAfter is how long calls go on whose client has no request open any more. It may come back for their
	// answers meanwhile.
	abandonAfter = time.Minute
	// mostEvents is how many bytes of answers are kept for clients that come back for them.
	mostEvents = 16 << 20
)

const sessionHeader = "Mcp-Session-Id"

const tooManySessions = "there are too many sessions: end one (DELETE with its " + sessionHeader + "), or try again later"

// taskKey is under what a request's context has the task that it names.
type taskKey struct{}

// Handler serves clients over streamable HTTP. Whoever gets here has shown the key: it asks for none, and does not look
// where a request comes from.
func (d *Door) Handler() http.Handler {
	events := mcp.NewMemoryEventStore(nil)
	events.SetMaxBytes(mostEvents)
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return d.server }, &mcp.StreamableHTTPOptions{
		Logger: d.Log, EventStore: events, SessionTimeout: sessionIdle, MaxRequestBodyBytes: MostMessage,
		DisableLocalhostProtection: true, // who is in front of us knows by which names we are called
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(sessionHeader)
		if id == "" && d.full() {
			w.Header().Set("Retry-After", "60")
			refuse(w, http.StatusServiceUnavailable, tooManySessions)
			return
		}
		task, named, err := d.task(r)
		if err != nil {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		s := d.byID(id)
		if s != nil && named && s.task != task {
			refuse(w, http.StatusNotFound, fmt.Sprintf("there is no such session of the task %q: a session stays with the task that it began with; begin another one", task))
			return
		}
		if !receive(w, r) {
			return
		}
		if s != nil {
			if r.Method == http.MethodDelete {
				s.interrupt() // whoever ends his session waits for none of its calls
			}
			s.arrive()
			defer s.depart(d.abandon)
		}
		inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), taskKey{}, task)))
	})
}

// task is the one that a request names, else the door's.
func (d *Door) task(r *http.Request) (task string, named bool, err error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return "", false, errors.New("the address cannot be read after its question mark: a percent sign is written %25, a plus %2B")
	}
	given, named := query["task"]
	switch {
	case len(given) > 1:
		return "", true, errors.New("the address names more than one task")
	case !named || given[0] == "":
		return d.Task, false, nil
	case !d.AnyTask && given[0] != d.Task:
		return "", true, fmt.Errorf("all sessions here work in the task %q: leave ?task= out, or start the server with --task", d.Task)
	}
	return given[0], true, d.Sandboxes.Identity(given[0]).Validate()
}

// receive reads the whole message, within the server's bounds, and lifts them from then on: an answer may take longer.
func receive(w http.ResponseWriter, r *http.Request) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MostMessage))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		refuse(w, http.StatusRequestEntityTooLarge, "the message is too long")
		return false
	case err != nil:
		refuse(w, http.StatusBadRequest, "the message did not arrive")
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Time{})
	control.SetWriteDeadline(time.Time{})
	return true
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": why})
}

func (d *Door) full() bool { return len(d.everySession()) >= mostSessions }

// byID finds the session of a client; nil before its first call.
func (d *Door) byID(id string) *session {
	if id == "" {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for ss, s := range d.sessions {
		if ss.ID() == id {
			return s
		}
	}
	return nil
}

// arrive and depart count the requests of a client. Calls of one that has none any more are ended after a while.
func (s *session) arrive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.present++
	if s.leaving != nil {
		s.leaving()
		s.leaving = nil
	}
}

func (s *session) depart(after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.present--; s.present > 0 || len(s.calls) == 0 {
		return
	}
	s.leave(after)
}

// leave ends the session's calls after a while, unless the client comes back.
func (s *session) leave(after time.Duration) { s.leaving = time.AfterFunc(after, s.abandoned).Stop }

func (s *session) abandoned() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.present > 0 {
		return
	}
	s.leaving = nil
	for _, cancel := range s.calls {
		cancel()
	}
}
