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
}

// What a guest may be able to do. A host asks before it relies on one.
const (
	CanReplay   = "replay"
	CanSessions = "sessions"
	CanTerminal = "tty"
	CanRetire   = "retire"
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
	theirs, err := readHello(conn)
	if err != nil {
		return nil, Hello{}, err
	}
	if theirs.Major > ours.Major || theirs.Major < ours.Major-1 {
		return nil, theirs, &VersionError{theirs.Major, ours.Major}
	}
	session, err := yamux.Client(conn, muxConfig())
	return session, theirs, err
}

// Accept makes the guest's end. A guest answers every caller, also one whose
// protocol it does not know: deciding is the caller's part.
func Accept(conn io.ReadWriteCloser, ours Hello) (*yamux.Session, Hello, error) {
	theirs, err := readHello(conn)
	if err == nil {
		err = NewWriter(conn).WriteMessage(TypeHello, ours)
	}
	if err != nil {
		conn.Close()
		return nil, Hello{}, err
	}
	session, err := yamux.Server(conn, muxConfig())
	return session, theirs, err
}

func readHello(conn io.Reader) (Hello, error) {
	var hello Hello
	frame, err := NewReader(conn).Next()
	if err != nil {
		return hello, fmt.Errorf("cannot read the peer's greeting: %w", err)
	}
	if frame.Type != TypeHello {
		return hello, fmt.Errorf("the peer did not greet: frame type %d", frame.Type)
	}
	return hello, frame.Decode(&hello)
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
