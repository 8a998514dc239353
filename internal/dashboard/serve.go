package dashboard

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"hermes.example/hermes/internal/gate"
	"hermes.example/hermes/internal/listen"
)

// The bounds on how long requests may go on after the end was asked for: so long as they are, and then until they have
// noticed that they are to end. What follows something goes on for ever, and ends then.
const (
	drainTime = time.Second
	endTime   = 3 * time.Second
)

// mostConnections is far above what a hundred open pages have: a browser keeps six.
const mostConnections = 1024

// Serve listens until the context ends. It calls ready with the address to open: one that logs in, once, where there
// is no other way to.
func (d *Dashboard) Serve(ctx context.Context, ready func(open string)) error {
	listener, err := listen.TCP(ctx, d.settings.Host, d.settings.Port)
	if err != nil {
		return fmt.Errorf("%w; choose another port (--port or HERMES_DASHBOARD_PORT)", err)
	}
	life, end := context.WithCancel(context.Background())
	defer end()
	var under requests
	server := gate.NewServer(under.counted(d.Handler()), d.most, d.log)
	server.BaseContext = func(net.Listener) context.Context { return life }
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	address := func() string { return d.door.Open(listener.Addr()) }
	ringing, silence := context.WithCancel(ctx)
	answered := make(chan struct{})
	go func() { defer close(answered); d.bell.Answer(ringing, address) }()
	defer func() { silence(); <-answered }()
	open := address()
	ready(open)
	d.announce(open)
	select {
	case err := <-served:
		return fmt.Errorf("cannot go on listening: %w", err)
	case <-ctx.Done():
	}
	var told sync.WaitGroup
	told.Go(func() {
		within(drainTime, func(ctx context.Context) error {
			d.drain(ctx)
			return nil
		})
	})
	defer told.Wait()
	if within(drainTime, server.Shutdown) != nil {
		end()
		within(endTime, server.Shutdown)
	}
	end()
	server.Close()
	<-served
	if !under.ended(endTime) {
		d.log.Warn("a request went on after the end of the dashboard")
	}
	return nil
}

func within(bound time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	return do(ctx)
}

// requests are those under way, with those whose connection is no longer the server's.
type requests struct{ each sync.RWMutex }

func (u *requests) counted(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.each.RLock()
		defer u.each.RUnlock()
		inner.ServeHTTP(w, r)
	})
}

// ended waits until none is under way, and says whether that came in time.
func (u *requests) ended(bound time.Duration) bool {
	none := make(chan struct{})
	go func() {
		u.each.Lock()
		defer u.each.Unlock()
		close(none)
	}()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-none:
		return true
	case <-timer.C:
		return false
	}
}
