package house

import (
	"bytes"
	"net/http"
	"time"
)

// How often an idle stream says that it is there, and how long who reads one may take for what is sent.
const (
	beatEvery = 15 * time.Second
	stall     = 30 * time.Second
)

// stream sends events to one page. One goroutine writes to it.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// newStream begins the answer.
func newStream(w http.ResponseWriter) *stream {
	s := &stream{w, http.NewResponseController(w)}
	s.control.SetReadDeadline(time.Time{}) // who follows sends nothing more
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies that collect would hold events back
	w.WriteHeader(http.StatusOK)
	s.control.Flush() // there may be nothing to send for long
	return s
}

// send sends an event, or anything else of the stream.
func (s *stream) send(text []byte) error {
	s.control.SetWriteDeadline(time.Now().Add(stall))
	if _, err := s.w.Write(text); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s *stream) beat() error { return s.send([]byte(":\n\n")) }

// end lets the connection have another request.
func (s *stream) end() { s.control.SetWriteDeadline(time.Time{}) }

// event is an event as it is sent. Its data is JSON, and so has no line breaks.
func event(name string, data []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(name) + len(data) + 16)
	b.WriteString("event: " + name + "\ndata: ")
	b.Write(data)
	b.WriteString("\n\n")
	return b.Bytes()
}
