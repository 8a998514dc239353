package gate

import (
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// NewServer is a server with the bounds of every door: who is slow to say what he wants, or opens connections and says
// nothing, must not keep others out, nor use up the files that sandboxes need; and who goes away is seen to have gone.
func NewServer(h http.Handler, mostConnections int, log *slog.Logger) *http.Server {
	limit := connections{most: int64(mostConnections)}
	return &http.Server{
		Handler: vigil(h), ConnContext: remember, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), ConnState: limit.watch,
		DisableGeneralOptionsHandler: true, // nothing is answered that has not passed the gate
	}
}

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
