// Package apis is a local server that speaks the APIs which the SDKs of backends call: Firecrawl, Exa, Parallel,
// DuckDuckGo's page for browsers without scripts, Feishu, and the speech service of Edge. Tests direct SDKs at it, real
// ones or stand-ins, and let it fail as such services do.
package apis

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Key is what every API here takes for a key, and nothing else.
const Key = "key-of-the-tests-4f1d9c"

// Fault is how a service fails. The zero value is a service that works.
type Fault struct {
	Status     int // in the place of the answer
	RetryAfter int // seconds, of Status
	Delay      time.Duration
	Never      bool // no answer until the caller leaves
	Cut        bool // the connection ends in the middle of the answer
}

// Server answers all APIs under one address; no two have a path in common.
type Server struct {
	URL  string
	mux  *http.ServeMux
	stop chan struct{}

	mu    sync.Mutex
	fault Fault
	asked []string
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	s := Handler()
	served := httptest.NewServer(s)
	s.URL = served.URL
	t.Cleanup(func() {
		close(s.stop)
		served.CloseClientConnections()
		served.Close()
	})
	return s
}

// Handler is the same for whoever listens otherwise.
func Handler() *Server {
	s := &Server{mux: http.NewServeMux(), stop: make(chan struct{})}
	s.search()
	s.feishu()
	s.mux.HandleFunc("GET /edge/v1", s.speech)
	s.mux.HandleFunc("GET /page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<html><head><title>A page</title></head><body><h1>A page</h1><p>with words</p></body></html>"))
	})
	return s
}

// Fail lets every request from now on fail in this way.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Asked are the requests so far: method and path.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f := s.fault
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	switch {
	case f.Never:
		s.wait(r, time.Hour)
	case f.Cut:
		cut(w, r)
	case f.Status != 0:
		s.wait(r, f.Delay)
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
		}
		refuse(w, f.Status)
	default:
		s.wait(r, f.Delay)
		s.mux.ServeHTTP(w, r)
	}
}

// wait waits, unless the caller leaves or the test ends.
func (s *Server) wait(r *http.Request, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	case <-s.stop:
	}
}

func cut(w http.ResponseWriter, r *http.Request) {
	connection, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"half\":"
	if r.Header.Get("Upgrade") != "" {
		head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: "
	}
	_, _ = buffered.WriteString(head)
	_ = buffered.Flush()
	_ = connection.Close()
}

func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"success": false, "error": "refused for the test"})
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// post handles a request with a JSON body and a key, which key finds in its headers. Who asks for a teapot is refused.
func (s *Server) post(path string, key func(http.Header) string, handle func(body map[string]any) any) {
	s.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if key(r.Header) != Key {
			refuse(w, http.StatusUnauthorized)
		} else if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			refuse(w, http.StatusBadRequest)
		} else if body["query"] == "a teapot" {
			refuse(w, http.StatusTeapot)
		} else {
			answer(w, handle(body))
		}
	})
}

func bearer(h http.Header) string { return strings.TrimPrefix(h.Get("Authorization"), "Bearer ") }
func apiKey(h http.Header) string { return h.Get("X-Api-Key") }
