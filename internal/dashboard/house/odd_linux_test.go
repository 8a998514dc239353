package house

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// raw sends a request just as it is written, and returns the answer and what of its body there is.
func (s *site) raw(method, target, rest string) (*http.Response, string) {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(bound))
	if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", method, target, rest); err != nil {
		s.t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, target, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, target, err)
	}
	return answer, string(text)
}

// oddPaths are written as nothing here is called.
var oddPaths = []string{"/", "/api", "/api/", "//api/overview", "/api//overview", "/api/./overview", "/api/../api/overview", "/api/overview/", "/API/overview", "/\\api/overview",
	"/api/services/../overview", "/api/services/%2e%2e/start", "/api/services//start", "/api/services/x%00/start", "/api/services/" + strings.Repeat("x", 5000) + "/start",
	"/api/profiles/", "/api/profiles/default", "/api/profiles/default/", "/api/profiles//v1/status", "/api/profiles/default//v1/status", "/api/profiles/default/../default/v1/status",
	"/api/profiles/default/v1/../v1/status", "/api/profiles/de%66ault/v1/status", "/api/profiles/default%2f/v1/status", "/api/profiles/%2fdefault/v1/status", "/api/profiles/%00/v1/status",
	"/api/profiles/%2e%2e/v1/status", "/api/profiles/d%C3%A9fault/v1/status", "/api/profiles/x%ff/v1/status", "/api/profiles/%0a/v1/status", "/api/profiles/" + strings.Repeat("p", 5000) + "/v1/status"}

// Whatever is asked for in whatever way, what is not there is refused with a line, and leads nowhere else.
func TestOddRequestsAreRefusedWithALine(t *testing.T) {
	s := newSite(t, nil, withSupervisor)
	refused := func(method, target, rest string) {
		t.Helper()
		answer, text := s.raw(method, target, rest)
		if answer.StatusCode < 400 || answer.StatusCode >= 500 || !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/") || answer.Header.Get("Location") != "" {
			t.Errorf("%s %.60s: %d %v", method, target, answer.StatusCode, answer.Header)
		}
		var said struct{ Error, Detail string }
		if method == "HEAD" {
			return
		}
		if err := json.Unmarshal([]byte(text), &said); err != nil || said.Error+said.Detail == "" || strings.Contains(said.Error+said.Detail, "\n") {
			t.Errorf("%s %.60s is refused with %q: %v", method, target, text, err)
		}
	}
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "FOO", "get"}
	for _, path := range oddPaths {
		for _, method := range methods {
			refused(method, path, "")
		}
	}
	for _, pattern := range Patterns() {
		only, path, has := strings.Cut(pattern, " ")
		if !has {
			continue
		}
		path = strings.NewReplacer("{name}", "steady", "{verb}", "start").Replace(path)
		for _, method := range methods {
			if method != only && (only != "GET" || method != "HEAD") {
				refused(method, path, "")
			}
		}
	}
	refused("POST", "/api/services/nobody/start", "Content-Length: 1099511627776\r\n") // of which nothing comes
	huge := strings.NewReader(`{"line": "` + strings.Repeat("x", 64<<20) + `"}`)
	answer, err := http.Post(s.server.URL+"/api/profiles/default/v1/sandboxes/work/exec", "application/json", huge)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body.Close(); answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("64 MiB of a command: %s", answer.Status)
	}
}
