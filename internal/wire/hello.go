package wire

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hashicorp/yamux"
)

// The protocol that this build speaks. A host also speaks the previous major.
const (
	Major = 1
	Minor = 0
)

// Hello is the first frame in each direction.
type Hello struct {
	Major        int      `json:"major"`
	Minor        int      `json:"minor"`
	Build        string   `json:"build"`
	Capabilities []string `json:"capabilities,omitempty"`
	// Observer is a caller that only looks: it holds no lease.
	Observer bool `json:"observer,omitempty"`
	// Direct asks for no multiplexer: the connection is one request's stream.
	// The caller knows the guest already, so it sends the request at once.
	Direct bool `json:"direct,omitempty"`
}

// What a guest may be able to do. A host asks before it relies on one.
const (
	CanReplay   = "replay"
	CanSessions = "sessions"
	CanTerminal = "tty"
	CanRetire   = "retire"
	CanDirect   = "direct"
)

// Can says whether the peer announced a capability.
func (h Hello) Can(capability string) bool { return slices.Contains(h.Capabilities, capability) }

// VersionError is a peer that speaks another protocol.
type VersionError struct{ Theirs, Ours int }

func (e *VersionError) Error() string {
	if e.Theirs > e.Ours {
		return fmt.Sprintf("the guest speaks protocol %d and this hermes only up to %d: use the newer hermes, or remove the sandbox and create it anew", e.Theirs, e.Ours)
	}
	return fmt.Sprintf("the guest speaks protocol %d, which this hermes (protocol %d) no longer does: remove the sandbox and create it anew", e.Theirs, e.Ours)
}

// Dial makes the caller's end of a connection: it says hello, checks the answer
// and starts the multiplexer. On error the connection is closed.
func Dial(conn io.ReadWriteCloser, ours Hello) (*yamux.Session, Hello, error) {
	session, theirs, err := dial(conn, ours)
	if err != nil {
		conn.Close()
	}
	return session, theirs, err
}

func dial(conn io.ReadWriteCloser, ours Hello) (*yamux.Session, Hello, error) {
	if err := NewWriter(conn).WriteMessage(TypeHello, ours); err != nil {
		return nil, Hello{}, fmt.Errorf("cannot greet the guest: %w", err)
	}
	theirs, err := readHello(NewReader(conn))
	if err != nil {
		return nil, Hello{}, err
	}
	if theirs.Major > ours.Major || theirs.Major < ours.Major-1 {
		return nil, theirs, &VersionError{theirs.Major, ours.Major}
	}
	session, err := yamux.Client(conn, muxConfig())
	return session, theirs, err
}

// Request makes the caller's end of a direct connection. Greeting and request
// leave together; the guest's greeting comes with the first frames of the answer.
func Request(conn io.ReadWriteCloser, ours Hello, t Type, m any) (*Reader, *Writer, error) {
	ours.Direct = true
	w := NewWriter(conn)
	err := w.QueueMessage(TypeHello, ours)
	if err == nil {
		err = w.WriteMessage(t, m)
	}
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return NewBufferedReader(conn), w, nil
}

// Greet reads a caller's greeting, on the guest's side. The Reader holds what
// came with it.
func Greet(conn io.Reader) (Hello, *Reader, error) {
	r := NewBufferedReader(conn)
	hello, err := readHello(r)
	return hello, r, err
}

// Serve makes the guest's end of a multiplexed connection whose greeting was
// read. A guest answers every caller, also one whose protocol it does not know:
// deciding is the caller's part.
func Serve(conn io.ReadWriteCloser, ours Hello) (*yamux.Session, error) {
	if err := NewWriter(conn).WriteMessage(TypeHello, ours); err != nil {
		conn.Close()
		return nil, err
	}
	return yamux.Server(conn, muxConfig())
}

func readHello(r *Reader) (Hello, error) {
	var hello Hello
	frame, err := r.Next()
	if err != nil {
		return hello, fmt.Errorf("cannot read the peer's greeting: %w", err)
	}
	if frame.Type != TypeHello {
		return hello, fmt.Errorf("the peer did not greet: frame type %d", frame.Type)
	}
	err = frame.Decode(&hello)
	return hello, err
}

// muxConfig has no keepalive: a broken peer shows as a closed socket, and a
// caller that was suspended for an hour must find its connection whole.
func muxConfig() *yamux.Config {
	c := yamux.DefaultConfig()
	c.EnableKeepAlive = false
	c.ConnectionWriteTimeout = 24 * time.Hour
	c.StreamOpenTimeout = 0
	c.StreamCloseTimeout = time.Minute
	c.AcceptBacklog = 1024
	c.MaxStreamWindowSize = 1 << 20
	c.LogOutput = io.Discard
	return c
}
