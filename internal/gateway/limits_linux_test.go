package gateway

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.example/hermes/client"
)

func TestTooManyRequestsASecond(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Settings.Rate = 1 })
	for range 2 { // twice as many at once
		if got := s.ask("GET", "/v1/status", ""); got.StatusCode != 200 {
			t.Fatalf("%d %s", got.StatusCode, got.body)
		}
	}
	got := s.ask("GET", "/v1/status", "")
	if got.refused(t, client.CodeTooMany); got.StatusCode != 429 || got.Header.Get("Retry-After") == "" {
		t.Errorf("%d %v", got.StatusCode, got.Header)
	}
	s.ask("GET", "/v1/status", "", "Authorization", "Bearer wrong").refused(t, client.CodeUnauthorized)
	if got := s.ask("GET", "/health", ""); got.StatusCode != 200 {
		t.Errorf("health: %d", got.StatusCode)
	}
}

func TestTooManyRequestsAtATime(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Settings.Concurrency = 1 })
	events, c := s.stream(s.request("POST", "/v1/sandboxes/work/exec", command(client.Exec{Line: "echo begun; sleep 1000"})))
	s.until(events, client.EventOutput)
	got := s.ask("GET", "/v1/status", "")
	if got.refused(t, client.CodeOverloaded); got.Header.Get("Retry-After") == "" {
		t.Errorf("%v", got.Header)
	}
	c.Close()
	s.eventually(func() bool { return s.askUnchecked("/v1/status") == 200 })
}

// Hundreds who send their requests a byte at a time get no answer, and others get theirs.
func TestSlowCallersAreCutOff(t *testing.T) {
	s := newSite(t, nil)
	address := strings.TrimPrefix(s.url, "http://")
	var conns []net.Conn
	for i := range 400 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		begin := "GET /v1/status HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
		if i%2 == 1 { // and those who have a key, and a body that does not come
			begin = "POST /v1/sandboxes/work/exec HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"
		}
		io.WriteString(conn, begin)
		conns = append(conns, conn)
	}
	stop := make(chan struct{})
	var slow sync.WaitGroup
	slow.Go(func() {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
			for _, conn := range conns {
				conn.Write([]byte("a"))
			}
		}
	})
	defer slow.Wait()
	defer close(stop)
	for range 50 {
		if out := s.exec("work", "echo served"); out.Stdout.Text != "served\n" {
			t.Fatalf("%+v", out)
		}
	}
	for i, conn := range conns {
		conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		text, err := io.ReadAll(conn)
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			t.Fatalf("caller %d is not cut off: %q", i, text)
		}
		if i%2 == 1 && !strings.Contains(string(text), "401 Unauthorized") {
			t.Fatalf("caller %d was answered %q", i, text)
		}
		if strings.Contains(string(text), "200 OK") {
			t.Fatalf("caller %d was served: %q", i, text)
		}
	}
}

// There are only so many connections, and of strangers' the oldest makes place: whoever comes with the key is served.
func TestConnectionsAreBounded(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Settings.Concurrency = 10 })
	address := strings.TrimPrefix(s.url, "http://")
	var conns []net.Conn
	for range 200 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	if status := s.askUnchecked("/v1/status"); status != 200 {
		t.Errorf("beside 200 that say nothing one with the key is answered %d", status)
	}
	open := 0
	for _, conn := range conns {
		io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+key+"\r\n\r\n") // without it a place is free again
		conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		if response, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil && response.StatusCode == 200 {
			open++
		}
	}
	if open == 0 || open > 10*connectionsPerPlace {
		t.Errorf("%d of 200 were served", open)
	}
	for _, conn := range conns {
		conn.Close()
	}
	s.eventually(func() bool { return s.askUnchecked("/v1/status") == 200 })
}

// Who follows and does not read holds nothing but what is on its way to him.
func TestASlowReaderCostsNoMemory(t *testing.T) {
	s := newSite(t, nil)
	const all = 60 << 20
	events, c := s.stream(s.request("POST", "/v1/sandboxes/work/exec", command(client.Exec{Line: "head -c 62914560 /dev/zero | tr '\\0' x; : >done"}), client.IdempotencyKey, "much"))
	defer c.Close()
	s.until(events, client.EventStarted)
	s.eventually(func() bool { return s.exec("work", "[ -e done ]").Result.Code == 0 })
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	if memory.HeapInuse > 40<<20 {
		t.Errorf("%d MiB are in use", memory.HeapInuse>>20)
	}
	came := 0
	for {
		e, err := readEvent(events)
		if err != nil {
			t.Fatal(err)
		}
		if came += strings.Count(e.data, "x") - strings.Count(e.data, `"text"`); e.name == client.EventExit {
			break
		}
	}
	if came < all || came > all+100 {
		t.Errorf("%d bytes came, of %d", came, all)
	}
}

// Who has shown no key keeps no connection: not one that was refused, and not one that only asked how the gateway is.
func TestOnlyTheKeyKeepsAConnection(t *testing.T) {
	r := start(t, nil)
	for request, kept := range map[string]bool{
		"GET /health HTTP/1.1\r\nHost: localhost\r\n":                                              false,
		"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n":                                           false,
		"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\n":            false,
		"GET /v1/status HTTP/1.1\r\nHost: evil.example\r\n":                                        false,
		"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + key + "\r\n":      true,
		"GET /health HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + key + "\r\n":         true,
		"OPTIONS /v1/status HTTP/1.1\r\nHost: localhost\r\nAccess-Control-Request-Method: GET\r\n": false,
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		io.WriteString(conn, request+"\r\n")
		in := bufio.NewReader(conn)
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%q: %v", request, err)
		}
		io.Copy(io.Discard, response.Body)
		io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
		_, err = http.ReadResponse(in, nil)
		if (err == nil) != kept {
			t.Errorf("%q: kept should be %v, %v", request, kept, err)
		}
		conn.Close()
	}
}
