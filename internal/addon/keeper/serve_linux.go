package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// What callers may take of a keeper.
const (
	headerTime = 5 * time.Second
	bodyTime   = 30 * time.Second
	mostCalls  = 512
	// drainTime is how long calls may go on after the keeper was told to end at once.
	drainTime = 3 * time.Second
)

// Serving is what a keeper works with.
type Serving struct {
	Pool  Pool
	Build string
	// Idle is how long it stays when nobody calls.
	Idle time.Duration
	Log  *slog.Logger
}

// server is a keeper at work. It serves until it was idle for long enough, or was asked to leave: then it gives its
// socket up, finishes what it has begun, and ends. When ctx ends it does not wait for calls.
type server struct {
	Serving
	listener *listener
	http     *http.Server
	started  time.Time
	leaving  chan struct{} // closed when it takes no more calls
	once     sync.Once

	mu       sync.Mutex
	calls    int
	lastUsed time.Time
}

// Serve is a keeper on the socket that Inherit returned. It closes the pool at its end.
func Serve(ctx context.Context, l *net.UnixListener, o Serving) error {
	now := time.Now()
	s := &server{Serving: o, listener: newListener(l), started: now, lastUsed: now, leaving: make(chan struct{})}
	defer s.Pool.Close()
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s.http = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, MaxHeaderBytes: headerBytes,
		ErrorLog:    slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return calls },
	}
	s.http.SetKeepAlivesEnabled(false)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	watch, stop := context.WithCancel(ctx)
	defer stop()
	waiting.Go(func() { s.watch(watch) })
	s.Log.Info("the keeper of backends listens", "build", s.Build)
	err := s.http.Serve(s.listener)
	if !errors.Is(err, net.ErrClosed) { // which is how it ends when it has left
		return fmt.Errorf("cannot serve backends: %w", err)
	}
	s.finish(ctx, cancel)
	s.Log.Info("the keeper of backends leaves")
	return nil
}

// watch leaves when nobody has called for a while, or when ctx ends.
func (s *server) watch(ctx context.Context) {
	timer := time.NewTimer(s.Idle)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			s.leave()
			return
		case <-s.leaving:
			return
		case <-timer.C:
			left := s.untilIdle()
			if left <= 0 {
				s.leave()
				return
			}
			timer.Reset(left)
		}
	}
}

// untilIdle is how long it would have to be let alone from now on.
func (s *server) untilIdle() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls > 0 {
		return s.Idle
	}
	return s.Idle - time.Since(s.lastUsed)
}

// leave gives the socket up, so that another keeper can be started. What was begun goes on.
func (s *server) leave() {
	s.once.Do(func() {
		if err := s.listener.leave(); err != nil {
			s.Log.Warn("cannot take the socket away; the next keeper does", "why", err)
		}
		close(s.leaving)
	})
}

// finish waits for calls that run, or ends them if the process is to end.
func (s *server) finish(ctx context.Context, cancel context.CancelFunc) {
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	bound := context.Background()
	if ctx.Err() != nil {
		var done context.CancelFunc
		bound, done = context.WithTimeout(bound, drainTime)
		defer done()
	}
	_ = s.http.Shutdown(bound) // who is not answered by then sees the connection end
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+callPath, s.counted(func(ctx context.Context, r request) (a answer, err error) {
		result, err := s.Pool.Call(ctx, r.Feature, r.Tool, r.Arguments, r.Variables)
		return answer{Result: &result}, err
	}))
	mux.HandleFunc("POST "+toolsPath, s.counted(func(ctx context.Context, r request) (a answer, err error) {
		a.Tools, err = s.Pool.Tools(ctx, r.Feature, r.Variables)
		return a, err
	}))
	mux.HandleFunc("GET "+statusPath, func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		status := Status{PID: os.Getpid(), Build: s.Build, Started: s.started, Calls: s.calls}
		s.mu.Unlock()
		status.Backends = s.Pool.Status()
		reply(w, status)
	})
	mux.HandleFunc("POST "+leavePath, func(w http.ResponseWriter, _ *http.Request) {
		s.leave()
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

// counted serves what uses a backend, for callers of the same build. A caller who goes away ends his call.
func (s *server) counted(do func(context.Context, request) (answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get(buildHeader) != s.Build {
			http.Error(w, "this is "+s.Build, http.StatusConflict)
			return
		}
		if !s.enter() {
			http.Error(w, "too many calls at once", http.StatusServiceUnavailable)
			return
		}
		defer s.exit()
		body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, largestRequest))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var r request
		if err := json.Unmarshal(body, &r); err != nil {
			http.Error(w, "cannot understand the request: "+err.Error(), http.StatusBadRequest)
			return
		}
		// The bound of the request is over; what is read from now on is that the caller is gone.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		a, err := do(q.Context(), r)
		if err != nil {
			a = answer{Failure: newFailure(err)}
		}
		reply(w, a)
	}
}

func (s *server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls >= mostCalls {
		return false
	}
	s.calls++
	return true
}

func (s *server) exit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls--
	s.lastUsed = time.Now()
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // who asked is gone
}
