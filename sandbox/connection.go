package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/hashicorp/yamux"

	"hermes.example/hermes/internal/version"
	"hermes.example/hermes/internal/wire"
)

// connection is one caller's line to a guest. Commands share it, each with a
// stream of its own.
//
// It is also the lease: as long as it is open the sandbox is in use. Where the
// engine connects cheaply, commands have connections of their own beside it.
type connection struct {
	mux   *yamux.Session
	hello wire.Hello
	// observer says that it is no lease, and neither are those beside it.
	observer bool
	// direct opens a connection for one request, or is nil.
	direct func(context.Context) (io.ReadWriteCloser, error)
}

// dial connects to an identity's guest. An observer only looks: it does not keep
// the sandbox in use.
func dial(ctx context.Context, e Engine, id Identity, observer bool) (*connection, error) {
	raw, err := e.Connect(ctx, id)
	if err != nil {
		return nil, err
	}
	// A guest that does not answer must not hold its caller for ever.
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	mux, hello, err := wire.Dial(raw, wire.Hello{Major: wire.Major, Minor: wire.Minor, Build: version.Version, Observer: observer})
	if !stop() {
		if err == nil {
			mux.Close()
		}
		err = ctx.Err() // rather than that its connection was closed
	}
	if cutOff(err) && ends(ctx, e, id) {
		err = ErrGone // it was ending, and so takes no callers any more
	}
	if err != nil {
		return nil, fmt.Errorf("cannot talk to the sandbox %q: %w", id.Task, err)
	}
	c := &connection{mux: mux, hello: hello, observer: observer}
	if e.Capabilities().Direct && hello.Can(wire.CanDirect) {
		c.direct = func(ctx context.Context) (io.ReadWriteCloser, error) { return e.Connect(ctx, id) }
	}
	return c, nil
}

func cutOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// ends waits for a moment for a sandbox to end, and says whether it has.
func ends(ctx context.Context, e Engine, id Identity) bool {
	for bound := time.Now().Add(endBound); ctx.Err() == nil && time.Now().Before(bound); {
		info, err := e.Find(ctx, id)
		if errors.Is(err, ErrNotFound) || err == nil && info.State != Running {
			return true
		}
		time.Sleep(endBound / 200)
	}
	return false
}

// endBound is how long a guest that takes no callers any more may take to end.
const endBound = 2 * time.Second

func (c *connection) alive() bool { return c != nil && !c.mux.IsClosed() }

func (c *connection) close() error { return c.mux.Close() }

// hungUp returns when connections to a guest that has ended know of it, so that nobody takes their sandbox for one that
// runs. What the guest said last is read first.
func hungUp(conns []*connection) {
	soon, cancel := context.WithTimeout(context.Background(), endBound)
	defer cancel()
	for _, c := range conns {
		select {
		case <-c.mux.CloseChan():
		case <-soon.Done():
			c.close()
		}
	}
}

// stream is one request's frames.
type stream struct {
	io.Closer
	*wire.Reader
	*wire.Writer
}

// hangUp also wakes who reads: of a multiplexer's stream, closing only ends what we
// write, and what the guest answers to that is not what was asked for.
func (s *stream) hangUp() {
	if line, ok := s.Closer.(interface{ SetReadDeadline(time.Time) error }); ok {
		line.SetReadDeadline(time.Unix(1, 0))
	}
	s.Close()
}

// open starts a request with its first frame.
func (c *connection) open(t wire.Type, m any) (*stream, error) {
	conn, err := c.mux.OpenStream()
	if err != nil {
		return nil, err
	}
	s := &stream{conn, wire.NewBufferedReader(conn), wire.NewWriter(conn)}
	if err := s.WriteMessage(t, m); err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

// openCommand starts a request that may last, by the shortest way there is.
func (c *connection) openCommand(ctx context.Context, t wire.Type, m any) (*stream, error) {
	if c.direct == nil {
		return c.open(t, m)
	}
	conn, err := c.direct(ctx)
	if err != nil {
		return nil, err
	}
	r, w, err := wire.Request(conn, wire.Hello{Major: wire.Major, Minor: wire.Minor, Build: version.Version, Observer: c.observer}, t, m)
	if err != nil {
		return nil, err
	}
	return &stream{conn, r, w}, nil
}

// ask makes a request that has one answer, which is waited for no longer than
// answerBound: a guest that is alive gives it at once.
func (c *connection) ask(t wire.Type, m any) (wire.Frame, error) {
	return c.askWithin(answerBound, t, m)
}

func (c *connection) askWithin(bound time.Duration, t wire.Type, m any) (wire.Frame, error) {
	s, err := c.open(t, m)
	if err != nil {
		return wire.Frame{}, err
	}
	defer s.Close()
	giveUp := time.AfterFunc(bound, s.hangUp)
	defer giveUp.Stop()
	frame, err := s.Next()
	if err != nil {
		return wire.Frame{}, err
	}
	return frame, frameError(frame)
}

// errUnsupported is a request that an older guest does not know.
var errUnsupported = errors.New("the sandbox's guest is too old for this; it is replaced when the sandbox is next unused")

func frameError(f wire.Frame) error {
	switch f.Type {
	case wire.TypeError:
		var failure wire.Failure
		if err := f.Decode(&failure); err != nil {
			return err
		}
		return &failure
	case wire.TypeUnsupported:
		return errUnsupported
	}
	return nil
}

func (c *connection) status() (wire.Status, error) {
	var st wire.Status
	frame, err := c.ask(wire.TypeStatus, struct{}{})
	if err != nil {
		return st, err
	}
	err = frame.Decode(&st)
	return st, err
}

// session asks what a session holds, and has it forgotten if that is wanted.
func (c *connection) session(name string, forget bool) (SessionState, error) {
	frame, err := c.ask(wire.TypeSession, wire.Session{Name: name, Forget: forget})
	if err != nil {
		return SessionState{}, err
	}
	var w wire.Session
	err = frame.Decode(&w)
	return SessionState{Cwd: w.Cwd, Home: w.Home, Variables: w.Variables, Functions: w.Functions, Aliases: w.Aliases}, err
}

// retire asks the guest to end if nobody uses it. The answer is final either way.
// What it hands over is put into left.
func (c *connection) retire(req wire.Retire, left *legacy) (retired bool, st wire.Status, err error) {
	req.HandOver = left != nil && c.hello.Can(wire.CanHandOver)
	s, err := c.open(wire.TypeRetire, req)
	if err != nil {
		return false, st, err
	}
	defer s.Close()
	giveUp := time.AfterFunc(answerBound, s.hangUp)
	defer giveUp.Stop()
	var handed legacy
	for {
		frame, err := s.NextMessage()
		if err == nil {
			err = frameError(frame)
		}
		switch {
		case err == nil && frame.Type == wire.TypeHanded:
			handed.take(frame)
			continue
		case err == nil:
			retired, err = frame.Type == wire.TypeRetired, frame.Decode(&st)
		}
		if !req.HandOver && len(st.Sessions) > 0 {
			handed.lose(errTooOld)
		}
		if left != nil && !handed.empty() {
			*left = handed // also when its guest was gone before its last word
		}
		return retired, st, err
	}
}
