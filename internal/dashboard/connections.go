package dashboard

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"

	"hermes.example/hermes/internal/dashboard/access"
)

// mostConnections is far above what a hundred open pages have. Who opens thousands and says nothing, or a letter a
// second, must not use up the files that this process may have open.
const mostConnections = 1024

// connections bounds how many there are. In the place of one too many goes the one that has been there longest of those
// on which nobody has shown a session: so strangers keep out neither who is in, nor for long who wants to log in.
type connections struct {
	most int

	mu        sync.Mutex
	open      map[net.Conn]*list.Element // nil once a session was shown
	strangers list.List                  // net.Conn, oldest first
}

func newConnections(most int) *connections {
	return &connections{most: most, open: make(map[net.Conn]*list.Element)}
}

// watch is told of what becomes of each connection.
func (c *connections) watch(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.open[conn] = c.strangers.PushBack(conn)
		if oldest := c.strangers.Front(); len(c.open) > c.most {
			c.forget(oldest.Value.(net.Conn))
			oldest.Value.(net.Conn).Close()
		}
	case http.StateClosed, http.StateHijacked:
		c.forget(conn)
	}
}

func (c *connections) forget(conn net.Conn) {
	if stranger := c.open[conn]; stranger != nil {
		c.strangers.Remove(stranger)
	}
	delete(c.open, conn)
}

// trust keeps a connection on which somebody has shown a session.
func (c *connections) trust(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stranger := c.open[conn]; stranger != nil {
		c.strangers.Remove(stranger)
		c.open[conn] = nil
	}
}

type trustKey struct{}

// remember lets the requests of a connection have it trusted.
func (c *connections) remember(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, trustKey{}, func() { c.trust(conn) })
}

// trusting has the connections trusted that what is behind the door is asked on by somebody.
func trusting(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if trust, ok := r.Context().Value(trustKey{}).(func()); ok && access.UserOf(r) != "" {
			trust()
		}
		inner.ServeHTTP(w, r)
	})
}
