package house

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/internal/supervise/control"
)

// hangsUp is a supervisor that takes a connection, does something with it, and closes it.
func hangsUp(do func(net.Conn)) func(*site, *Options) {
	return func(s *site, o *Options) {
		path := filepath.Join(s.home, "hangs-up.sock")
		l, err := net.Listen("unix", path)
		if err != nil {
			s.t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				do(conn)
				conn.Close()
			}
		}()
		s.t.Cleanup(func() { l.Close(); <-done })
		o.Services = func(_ context.Context, do func(control.Operations) error) error {
			c := control.Dial(path)
			defer c.Close()
			return do(c)
		}
	}
}

// request reads the head of a request.
func request(conn net.Conn) { conn.Read(make([]byte, 4096)) }

// A supervisor that is being started again breaks off whatever is asked just then. That is no fault of ours, and who asks
// again gets an answer.
func TestWhoAsksASupervisorThatHangsUpIsToldToAskAgain(t *testing.T) {
	const head, closed = "HTTP/1.1 200 OK\r\nHermes-Control: 1\r\nContent-Length: 71\r\n\r\n", `{"error":{"code":"closed","message":"the supervisor is shutting down"}}`
	refusal := strings.Replace(head, "200 OK", "503 No", 1)
	says := func(text string) func(net.Conn) {
		return func(conn net.Conn) { request(conn); io.WriteString(conn, text) }
	}
	for name, do := range map[string]func(net.Conn){
		"before the request":   func(net.Conn) {},
		"in the request":       func(conn net.Conn) { conn.Read(make([]byte, 10)) }, // the rest resets the connection
		"before the answer":    says(""),
		"in the answer":        says(head[:17]),
		"in the answer's body": says(head + `{"services": [`),
		"in a refusal":         says(refusal + closed[:30]),
		"after a refusal":      says(refusal + closed),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, nil, hangsUp(do))
			s.refused("GET", "/api/services", 503, "ask again")
			s.refused("POST", "/api/services/steady/restart", 503, "ask again")
			if name == "in the answer's body" { // a log that breaks off is what there is, and no more is said of a restart
				return
			}
			s.refused("GET", "/api/services/steady/log", 503, "ask again")
			answer, err := http.Post(s.server.URL+"/api/services/steady/start", "", nil)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.Header.Get("Retry-After") == "" {
				t.Error("when to ask again is not said")
			}
			var problem struct{ Detail string }
			if s.ask("POST", "/api/profiles/default/v1/restart", 503, &problem); !strings.Contains(problem.Detail, "ask again") {
				t.Errorf("%+v", problem)
			}
		})
	}
}
