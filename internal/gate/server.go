package gate

import (
	"log/slog"
	"net/http"
	"time"
)

// NewServer is a server with the bounds of every door: who is slow to say what he wants, or opens connections and says
// nothing, must not keep others out, nor use up the files that sandboxes need; and who goes away is seen to have gone.
// Whoever finds out who somebody is calls Trust.
func NewServer(h http.Handler, mostConnections int, log *slog.Logger) *http.Server {
	all := newConnections(mostConnections)
	return &http.Server{
		Handler: vigil(h), ConnContext: all.remember, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), ConnState: all.watch,
		DisableGeneralOptionsHandler: true, // nothing is answered that has not passed the gate
	}
}
