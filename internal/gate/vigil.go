package gate

import (
	"context"
	"net/http"
	"syscall"
	"time"
)

// vigilEvery is how often it is looked whether who asked is still there.
const vigilEvery = time.Second

// vigil ends the context of a request when its caller has gone. The server sees to that itself, but gives up on a caller
// who sends more than his request, and one byte too many is enough: his command would outlive him.
func vigil(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of, _ := r.Context().Value(connectionKey{}).(connection)
		conn, ok := of.Conn.(syscall.Conn)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		var look func()
		look = func() {
			switch {
			case ctx.Err() != nil: // it was answered
			case hungUp(conn):
				cancel()
			default:
				time.AfterFunc(vigilEvery, look)
			}
		}
		timer := time.AfterFunc(vigilEvery, look)
		defer timer.Stop()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
