package gateway

import (
	"net"
	"net/http"
	"sync/atomic"
)

// connectionsPerPlace is how many connections there may be for each request that is let in at a time. Most clients keep
// some that are idle; who opens thousands and says nothing must not use up the files that sandboxes need.
const connectionsPerPlace = 2

// connections bounds how many there are. One too many is closed before anything is read of it.
type connections struct {
	most int64
	open atomic.Int64
}

func (c *connections) watch(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if c.open.Add(1) > c.most {
			conn.Close()
		}
	case http.StateClosed, http.StateHijacked:
		c.open.Add(-1)
	}
}
