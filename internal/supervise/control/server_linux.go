package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"hermes.example/hermes/internal/supervise"
)

// What a client may take.
const (
	headerTime  = 5 * time.Second
	requestTime = 10 * time.Second
	answerTime  = 10 * time.Second
	idleTime    = 30 * time.Second
	headerBytes = 8 << 10
	bodyBytes   = 4 << 10
	mostLines   = 100_000
)

// Serve answers until ctx ends. The listener, as Listen makes it, is closed then.
func Serve(ctx context.Context, l net.Listener, ops Operations, log *slog.Logger) error {
	s := server(ctx, ops, log)
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve the control socket: %w", err)
	}
	return nil
}

func server(ctx context.Context, ops Operations, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler(ops),
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       requestTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    headerBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, peerKey{}, c) },
	}
}

type peerKey struct{}

// route is one thing that can be asked for. The OpenAPI file says the same.
type route struct {
	method, path string
	serve        func(Operations, http.ResponseWriter, *http.Request) error
}

var routes = []route{
	{"GET", "/v1/services", services},
	{"GET", "/v1/services/{name}", service},
	{"POST", "/v1/services/{name}/start", changing(Operations.Start)},
	{"POST", "/v1/services/{name}/stop", changing(Operations.Stop)},
	{"POST", "/v1/services/{name}/restart", changing(Operations.Restart)},
	{"GET", "/v1/services/{name}/log", showLog},
	{"PUT", "/v1/gateways/{profile}", register},
	{"DELETE", "/v1/gateways/{profile}", unregister},
	{"GET", "/v1/health", health},
}

func handler(ops Operations) http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, q *http.Request) {
			if err := r.serve(ops, w, q); err != nil {
				status, body := encode(err)
				answer(w, status, body)
			}
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set(versionHeader, version)
		deadline(w, answerTime)
		if p, ok := q.Context().Value(peerKey{}).(*peer); !ok || !p.allowed {
			status, body := encode(ErrForbidden)
			answer(w, status, body)
			return
		}
		q.Body = http.MaxBytesReader(w, q.Body, bodyBytes)
		mux.ServeHTTP(w, q)
	})
}

// deadline is until when an answer must have been taken.
func deadline(w http.ResponseWriter, d time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d)) // a connection without deadlines is a test's
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who asked is gone
}

func services(ops Operations, w http.ResponseWriter, q *http.Request) error {
	all, err := ops.Services(q.Context())
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, map[string][]supervise.Status{"services": all})
	return nil
}

func service(ops Operations, w http.ResponseWriter, q *http.Request) error {
	st, err := ops.Service(q.Context(), q.PathValue("name"))
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, st)
	return nil
}

// changing answers with the status after the change, and if it is to wait with what came of it.
func changing(change func(Operations, context.Context, string) error) func(Operations, http.ResponseWriter, *http.Request) error {
	return func(ops Operations, w http.ResponseWriter, q *http.Request) error {
		wait, err := duration(q.URL.Query().Get("wait"))
		if err != nil {
			return err
		}
		name := q.PathValue("name")
		if err := change(ops, q.Context(), name); err != nil {
			return err
		}
		if wait == 0 {
			return service(ops, w, q)
		}
		deadline(w, wait+answerTime)
		ctx, cancel := context.WithTimeout(q.Context(), wait)
		defer cancel()
		st, err := ops.Wait(ctx, name)
		if err != nil {
			return err
		}
		answer(w, http.StatusOK, st)
		return nil
	}
}

func duration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > LongestWait {
		return 0, fmt.Errorf("cannot wait for %q: it is not a time up to %v: %w", text, LongestWait, errBad)
	}
	return d, nil
}

func showLog(ops Operations, w http.ResponseWriter, q *http.Request) error {
	values := q.URL.Query()
	lines, follow := 100, values.Get("follow") == "true"
	if text := values.Get("lines"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n > mostLines {
			return fmt.Errorf("cannot show %q lines: %w", text, errBad)
		}
		lines = n
	}
	text, err := ops.Log(q.Context(), q.PathValue("name"), lines, follow)
	if err != nil {
		return err
	}
	defer text.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_ = http.NewResponseController(w).Flush() // shows that it begins
	_, _ = io.Copy(flushed{w}, text)          // who asked is gone, or the log: it ends here
	return nil
}

// flushed passes on what there is at once. There may be nothing for long, but what there is must be taken.
type flushed struct{ http.ResponseWriter }

func (f flushed) Write(p []byte) (int, error) {
	deadline(f.ResponseWriter, answerTime)
	n, err := f.ResponseWriter.Write(p)
	if err == nil {
		err = http.NewResponseController(f.ResponseWriter).Flush()
	}
	return n, err
}

func register(ops Operations, w http.ResponseWriter, q *http.Request) error {
	var r registration
	if err := json.NewDecoder(q.Body).Decode(&r); err != nil && err != io.EOF {
		return fmt.Errorf("cannot read what is to be registered: %w: %w", err, errBad)
	}
	if err := ops.Register(q.Context(), q.PathValue("profile"), r.Start); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// unregister may take as long as a service takes to end.
func unregister(ops Operations, w http.ResponseWriter, q *http.Request) error {
	deadline(w, endTime)
	if err := ops.Unregister(q.Context(), q.PathValue("profile")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func health(ops Operations, w http.ResponseWriter, q *http.Request) error {
	h, err := ops.Health(q.Context())
	if err != nil {
		return err
	}
	status := http.StatusOK
	if !h.Healthy {
		status = http.StatusServiceUnavailable
	}
	answer(w, status, h)
	return nil
}
