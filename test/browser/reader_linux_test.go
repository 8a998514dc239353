package browser

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"
)

// reader is a program that has come in.
type reader struct {
	h      *house
	client *http.Client
}

// reader comes in with an address that logs in once.
func (h *house) reader() *reader {
	h.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	p := &reader{h, &http.Client{Jar: jar, Transport: &http.Transport{}}}
	h.t.Cleanup(p.client.CloseIdleConnections)
	answer, err := p.client.Get(strings.TrimSpace(h.hermes("dashboard", "url")))
	if err != nil {
		h.t.Fatal(err)
	}
	if answer.Body.Close(); answer.StatusCode != http.StatusOK {
		h.t.Fatalf("the address that logs in: %s", answer.Status)
	}
	return p
}

// follow opens a stream, which is to be closed.
func (p *reader) follow(path string) io.ReadCloser {
	p.h.t.Helper()
	answer, err := p.client.Get(p.h.url + path)
	if err != nil {
		p.h.t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		p.h.t.Fatalf("%s: %s: %s", path, answer.Status, text)
	}
	return answer.Body
}

// batch is an event of a log: lines, or how many were left out.
type batch struct {
	lines   []string
	dropped int
}

// batches reads the events of a log until the stream ends or take has had enough.
func batches(stream io.Reader, take func(batch) (more bool)) error {
	in, name := bufio.NewReader(stream), ""
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		line = strings.TrimSuffix(line, "\n")
		if is, ok := strings.CutPrefix(line, "event: "); ok {
			name = is
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var b batch
		var into any = &struct{ Lines *[]string }{&b.lines}
		if name == "dropped" {
			into = &struct{ Lines *int }{&b.dropped}
		}
		if err := json.Unmarshal([]byte(data), into); err != nil {
			return err
		}
		if !take(b) {
			return nil
		}
	}
}

// mark is what goes with a change that this session asks for.
func (p *reader) mark() string {
	p.h.t.Helper()
	var me struct{ CSRF string }
	stream := p.follow("/api/auth/me")
	defer stream.Close()
	if err := json.NewDecoder(stream).Decode(&me); err != nil || me.CSRF == "" {
		p.h.t.Fatalf("who came in has no mark: %v", err)
	}
	return me.CSRF
}

// dial opens a connection of its own.
func (p *reader) dial() net.Conn {
	p.h.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.h.url, "http://"))
	if err != nil {
		p.h.t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(bound))
	return conn
}

// write sends a request as it is written, with all that the door asks for.
func (p *reader) write(conn net.Conn, method, target, mark, accept, body string) error {
	site, err := url.Parse(p.h.url)
	if err != nil {
		return err
	}
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nX-CSRF-Token: %s\r\nContent-Type: application/json\r\nAccept: %s\r\nContent-Length: %d\r\n",
		method, target, site.Host, p.h.url, mark, accept, len(body))
	for _, c := range p.client.Jar.Cookies(site) {
		fmt.Fprintf(&head, "Cookie: %s=%s\r\n", c.Name, c.Value)
	}
	_, err = io.WriteString(conn, head.String()+"\r\n"+body)
	return err
}
