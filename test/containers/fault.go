//go:build linux

package containers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"time"
)

// Fault is what happens to requests on their way through a proxy. Delay, Hang, Cut and Status say what,
// in this order where there are several; the other fields say to which and when.
type Fault struct {
	On    string // a regular expression over "METHOD /path", the path without its version; empty: every request
	Times int    // so many requests, and no more; zero: all

	// When: Answer false and After zero is before the daemon hears of the request; Answer true and After
	// zero is when it has done its work and the caller has not heard of it. After counts bytes of the
	// body, or of the stream, that pass in that direction first.
	Answer bool
	After  int64

	Delay   time.Duration
	Hang    bool   // until Heal; then everything goes on
	Cut     bool   // close both directions
	Status  int    // say this instead of the daemon; not together with After
	Message string // as the error that goes with the status
}

// injected is a fault while it is in effect.
type injected struct {
	Fault
	on     *regexp.Regexp
	left   int // requests; negative: no end
	healed <-chan struct{}
}

var version = regexp.MustCompile(`^/v[0-9.]+/`)

// Inject adds faults. The first that matches a request is the one it meets.
func (p *Proxy) Inject(faults ...Fault) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range faults {
		on, err := regexp.Compile(f.On)
		if err != nil {
			p.t.Fatal(err)
		}
		if f.Status != 0 && f.After != 0 {
			p.t.Fatal("an answer that has begun cannot get another status")
		}
		left := f.Times
		if left == 0 {
			left = -1
		}
		p.faults = append(p.faults, &injected{Fault: f, on: on, left: left, healed: p.healed})
	}
}

// Heal takes all faults away. What hangs goes on.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = nil
	close(p.healed)
	p.healed = make(chan struct{})
}

// note writes the request down and chooses its fault, which may be none.
func (p *Proxy) note(r *http.Request) *injected {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := r.Method + " " + version.ReplaceAllString(r.URL.Path, "/")
	p.requests = append(p.requests, name)
	for _, f := range p.faults {
		if f.left != 0 && f.on.MatchString(name) {
			f.left--
			return f
		}
	}
	return nil
}

// due says whether this is the fault's moment: in the request or in the answer, at its beginning or within.
func (f *injected) due(answer, within bool) bool {
	return f != nil && f.Answer == answer && (f.After > 0) == within
}

// suffer is false when the connection is to end here.
func (f *injected) suffer(ctx context.Context) bool {
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-ctx.Done():
			return false
		}
	}
	if f.Hang {
		select {
		case <-f.healed:
		case <-ctx.Done():
			return false
		}
	}
	return !f.Cut
}

// part passes on what comes before the fault, and then suffers it.
func (f *injected) part(ctx context.Context, to io.Writer, from io.Reader) bool {
	_, err := io.CopyN(to, from, f.After)
	return err == nil && f.suffer(ctx)
}

// answer says the fault's status in the way daemons do, and nothing after it.
func (f *injected) answer(front net.Conn) {
	body, _ := json.Marshal(map[string]string{"message": f.Message})
	fmt.Fprintf(front, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		f.Status, http.StatusText(f.Status), len(body), body)
	closeWrite(front)
}
