package dashboard

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/config"
)

// crowded is a dashboard that serves with room for so many connections, and the address at which it logs in once.
func crowded(t *testing.T, most int) *url.URL {
	t.Helper()
	d, err := New(Options{Settings: config.Dashboard{Host: "127.0.0.1", Basic: config.BasicAuth{TTL: time.Hour}}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	d.most = most
	ctx, stop := contextWithCancel(t)
	opened, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- d.Serve(ctx, func(open string) { opened <- open }) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	open, err := url.Parse(<-opened)
	if err != nil {
		t.Fatal(err)
	}
	return open
}

// wire is a connection that is kept.
type wire struct {
	net.Conn
	answers *bufio.Reader
}

func dial(t *testing.T, host string) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	return &wire{conn, bufio.NewReader(conn)}
}

// ask is the status of the answer, and its cookies; 0 where the connection was closed.
func (w *wire) ask(path, cookies string) (status int, given string) {
	fmt.Fprintf(w, "GET %s HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\n\r\n", path, w.RemoteAddr(), cookies)
	r, err := http.ReadResponse(w.answers, nil)
	if err != nil {
		return 0, ""
	}
	defer r.Body.Close()
	io.Copy(io.Discard, r.Body)
	var all []string
	for _, c := range r.Cookies() {
		all = append(all, c.Name+"="+c.Value)
	}
	return r.StatusCode, strings.Join(all, "; ")
}

// Who opens connections without end and sends a login a letter at a time, or nothing, has a bounded number of them; who
// is in stays in, and who comes is served.
func TestStrangersKeepNobodyOut(t *testing.T) {
	const most = 8
	open := crowded(t, most)
	in := dial(t, open.Host)
	status, cookies := in.ask(open.RequestURI(), "")
	if status != http.StatusSeeOther {
		t.Fatalf("the address does not log in: %d", status)
	}
	if status, _ := in.ask("/", cookies); status != http.StatusOK {
		t.Fatalf("who is in: %d", status)
	}
	var slow []*wire
	for i := range 5 * most {
		w := dial(t, open.Host)
		if i%2 == 0 {
			fmt.Fprintf(w, "POST /auth/password-login HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", open.Host)
		}
		slow = append(slow, w)
	}
	if status, _ := dial(t, open.Host).ask("/health", ""); status != http.StatusOK {
		t.Errorf("who comes is answered %d", status)
	}
	for i, w := range slow[:4*most] {
		if i%2 == 0 { // the others end by themselves, for they have said nothing
			if _, err := w.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
				t.Errorf("connection %d is kept: %v", i, err)
			}
		}
	}
	if status, _ := in.ask("/", cookies); status != http.StatusOK {
		t.Errorf("who is in was cut off: %d", status)
	}
}

// Where all places are of people who are in, one more is not let in in their place; where one leaves, it is.
func TestThereAreSoManyConnections(t *testing.T) {
	const most = 3
	open := crowded(t, most)
	first := dial(t, open.Host)
	_, cookies := first.ask(open.RequestURI(), "")
	in := []*wire{first, dial(t, open.Host), dial(t, open.Host)}
	for i, w := range in {
		if status, _ := w.ask("/", cookies); status != http.StatusOK {
			t.Fatalf("connection %d: %d", i, status)
		}
	}
	if status, _ := dial(t, open.Host).ask("/", cookies); status != 0 {
		t.Errorf("one too many: %d", status)
	}
	for i, w := range in {
		if status, _ := w.ask("/", cookies); status != http.StatusOK {
			t.Errorf("connection %d made place: %d", i, status)
		}
	}
	first.Close()
	deadline := time.Now().Add(30 * time.Second)
	for {
		if status, _ := dial(t, open.Host).ask("/", cookies); status == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the place of who has left is not given to others")
		}
	}
}

// However many open the printed address at the same moment, one of them comes in.
func TestOneOfManyComesInByTheAddressThatIsPrinted(t *testing.T) {
	open := crowded(t, mostConnections)
	const many = 100
	var wires []*wire
	for range many {
		wires = append(wires, dial(t, open.Host))
	}
	statuses, now := make(chan int, many), make(chan struct{})
	for _, w := range wires {
		go func() {
			<-now
			status, _ := w.ask(open.RequestURI(), "")
			statuses <- status
		}()
	}
	close(now)
	count := make(map[int]int)
	for range many {
		count[<-statuses]++
	}
	if count[http.StatusSeeOther] != 1 || count[http.StatusUnauthorized] != many-1 {
		t.Errorf("%v", count)
	}
}
