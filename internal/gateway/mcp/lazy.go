package mcp

import (
	"context"
	"net/http"
	"sync"
)

// Lazy is a door that is made when the first client comes: a gateway starts also where what makes its sandboxes does not
// answer yet.
type Lazy struct {
	open func() (*Door, error)

	mu      sync.Mutex
	door    *Door
	handler http.Handler
	ended   bool
}

// Lazily returns a door that open makes.
func Lazily(open func() (*Door, error)) *Lazy { return &Lazy{open: open} }

func (l *Lazy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handler, err := l.opened()
	if err != nil {
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	handler.ServeHTTP(w, r)
}

func (l *Lazy) opened() (http.Handler, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended:
		return nil, errEnds
	case l.door == nil:
		door, err := l.open()
		if err != nil {
			return nil, err
		}
		l.door, l.handler = door, door.Handler()
	}
	return l.handler, nil
}

// Shutdown ends the door if there is one, and keeps it from being made.
func (l *Lazy) Shutdown(ctx context.Context) {
	l.mu.Lock()
	l.ended = true
	door := l.door
	l.mu.Unlock()
	if door != nil {
		door.Shutdown(ctx)
	}
}
