package browser

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
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
