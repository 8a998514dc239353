package browser

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// wire is a way to the dashboard that the test can cut. Its life: newWire listens, cut closes what goes through it and
// lets nothing in until mend, the end of the test closes it and waits for all that it began.
type wire struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	conns []net.Conn
	out   bool
	all   sync.WaitGroup
}

// newWire is a way to an address, and the address at its other end.
func newWire(t *testing.T, url string) (w *wire, near string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w = &wire{listener: l, to: strings.TrimPrefix(url, "http://")}
	w.all.Go(w.accept)
	t.Cleanup(func() { l.Close(); w.cut(); w.all.Wait() })
	return w, "http://" + l.Addr().String()
}

func (w *wire) accept() {
	for {
		in, err := w.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", w.to)
		if err != nil || !w.keep(in, out) {
			in.Close()
			if out != nil {
				out.Close()
			}
			continue
		}
		for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
			w.all.Go(func() {
				io.Copy(way[0], way[1])
				way[0].Close()
				way[1].Close()
			})
		}
	}
}

// keep remembers connections to be cut, unless the wire is.
func (w *wire) keep(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.out {
		w.conns = append(w.conns, conns...)
	}
	return !w.out
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out = true
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out = false
}
