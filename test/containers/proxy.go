//go:build linux

package containers

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/moby/moby/client"
)

// Proxy stands in front of a daemon, on a unix socket and on a port of the loopback, and behaves as the
// daemon does until a test injects faults. It listens from its creation to the end of its test, except
// between Down and Up; with the test all its connections end.
//
// A connection carries one request, whatever follows it: a body, or a stream in both directions whose
// halves are closed one by one. The daemon is told to close after its answer, so that the next request
// meets the faults of its own time.
type Proxy struct {
	Host    string // unix://…
	TCPHost string // tcp://127.0.0.1:…

	t    testing.TB
	dial func(context.Context) (net.Conn, error)

	mu        sync.Mutex
	listeners []net.Listener
	open      map[net.Conn]context.CancelFunc
	faults    []*injected
	healed    chan struct{} // closed by Heal
	requests  []string
	serving   sync.WaitGroup
}

const anyPort = "tcp://127.0.0.1:0"

// NewProxy puts a proxy in front of the daemon that c speaks to.
func NewProxy(t testing.TB, c *client.Client) *Proxy {
	t.Helper()
	dir, err := os.MkdirTemp("", "proxy") // the name of a test may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{
		Host: "unix://" + filepath.Join(dir, "s"), TCPHost: anyPort,
		t: t, dial: c.Dialer(), open: make(map[net.Conn]context.CancelFunc), healed: make(chan struct{}),
	}
	p.Up()
	t.Cleanup(func() {
		p.Down()
		p.serving.Wait()
		os.RemoveAll(dir)
	})
	return p
}

// Client is one that reaches the daemon through the proxy's socket.
func (p *Proxy) Client() *client.Client {
	p.t.Helper()
	return Connect(p.t, p.Host)
}

// Requests lists what was asked so far, as "METHOD /path" without the version.
func (p *Proxy) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Down is a daemon that was killed: connections are cut, new ones refused.
func (p *Proxy) Down() {
	p.mu.Lock()
	for _, l := range p.listeners {
		_ = l.Close()
	}
	p.listeners = nil
	p.mu.Unlock()
	p.Cut()
}

// Up is a daemon that was started again, at the same addresses.
func (p *Proxy) Up() {
	p.t.Helper()
	socket := p.Host[len("unix://"):]
	os.Remove(socket)
	unix, err := net.Listen("unix", socket)
	if err != nil {
		p.t.Fatal(err)
	}
	unix.(*net.UnixListener).SetUnlinkOnClose(false) // the killed leave theirs, and who calls is refused
	tcp, err := net.Listen("tcp", p.TCPHost[len("tcp://"):])
	if err != nil {
		_ = unix.Close()
		p.t.Fatal(err)
	}
	if p.TCPHost == anyPort {
		p.TCPHost = "tcp://" + tcp.Addr().String()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners = []net.Listener{unix, tcp}
	for _, l := range p.listeners {
		p.serving.Go(func() { p.accept(l) })
	}
}

// Cut ends all connections there are.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn, cancel := range p.open {
		cancel()
		conn.Close()
	}
}

func (p *Proxy) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		p.serving.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if p.keep(l, conn, cancel) {
				defer p.drop(conn)
				p.serve(ctx, cancel, l, conn)
			}
		})
	}
}

// keep makes a connection one that Cut ends; it is too late for that once its listener is down.
func (p *Proxy) keep(l net.Listener, conn net.Conn, cancel context.CancelFunc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.listeners, l) {
		conn.Close()
		return false
	}
	p.open[conn] = cancel
	return true
}

func (p *Proxy) drop(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, conn)
	conn.Close()
}
