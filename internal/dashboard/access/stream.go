package access

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// errSessionOver is why a request ended that was under way.
var errSessionOver = errors.New("the session is over")

// whileItLasts serves a request for as long as its session holds. A stream that goes on longer ends then: its context
// does, and the connection of one that has taken it over is closed.
func (a *Access) whileItLasts(inner http.Handler, w http.ResponseWriter, r *http.Request, s session) {
	left := time.Unix(s.Expires, 0).Sub(a.signer.now())
	ctx, cancel := context.WithTimeoutCause(r.Context(), left, errSessionOver)
	defer cancel()
	l := &line{ResponseWriter: w}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		if context.Cause(ctx) == errSessionOver {
			l.cut()
		}
	})
	defer func() {
		if !stop() {
			<-ended
		}
	}()
	inner.ServeHTTP(l, r.WithContext(ctx))
}

// line is the way back to a caller, which can be cut.
type line struct {
	http.ResponseWriter

	mu   sync.Mutex
	over net.Conn // once it was taken over
}

// Unwrap is for http.ResponseController.
func (l *line) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// Flush is for those who know nothing of http.ResponseController.
func (l *line) Flush() { http.NewResponseController(l.ResponseWriter).Flush() }

// Hijack hands the connection over, as a WebSocket wants it.
func (l *line) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(l.ResponseWriter).Hijack()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.over = conn
	}
	return conn, buffered, err
}

// cutTime is what whoever is behind has to say that it is over.
const cutTime = 2 * time.Second

// cut ends what is under way: nobody waits any longer for a caller who does not read.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over != nil {
		l.over.SetDeadline(time.Now().Add(cutTime))
		return
	}
	http.NewResponseController(l.ResponseWriter).SetWriteDeadline(time.Now().Add(cutTime))
}
