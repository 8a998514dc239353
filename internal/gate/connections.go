package gate

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// connections bounds how many there are. In the place of one too many goes the one that has been there longest of those
// that are not trusted: so strangers keep out neither who is in, nor for long who wants to come in.
type connections struct {
	most int

	mu        sync.Mutex
	open      map[net.Conn]*list.Element // nil once it is trusted
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
		if len(c.open) > c.most {
			oldest := c.strangers.Front().Value.(net.Conn)
			c.forget(oldest)
			oldest.Close()
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

func (c *connections) trust(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stranger := c.open[conn]; stranger != nil {
		c.strangers.Remove(stranger)
		c.open[conn] = nil
	}
}

// connection is that of a request, among all.
type connection struct {
	net.Conn
	among *connections
}

type connectionKey struct{}

// remember lets a request find its connection.
func (c *connections) remember(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, connection{conn, c})
}

// Trust keeps the connection on which somebody has shown who he is: it makes place for no other.
func Trust(r *http.Request) {
	if c, ok := r.Context().Value(connectionKey{}).(connection); ok {
		c.among.trust(c.Conn)
	}
}
