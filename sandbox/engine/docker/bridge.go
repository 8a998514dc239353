package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/contained"
	"hermes.example/hermes/sandbox"
)

// bridgeBound is how long the daemon and the guest may take until a stream stands.
const bridgeBound = 20 * time.Second

// bridge opens a stream to the guest through a process in the container, and proves who
// we are.
func (e *Engine) bridge(ctx context.Context, id sandbox.Identity, c container.InspectResponse, l link) (io.ReadWriteCloser, error) {
	key := contained.Key(l.Key)
	stream, err := e.openBridge(ctx, c.ID, func(line io.ReadWriter) error { return contained.Prove(line, key) })
	if errors.Is(err, contained.ErrUnclaimed) {
		// It was started again by somebody else, and knows nobody yet.
		stream, err = e.openBridge(ctx, c.ID, func(line io.ReadWriter) error { return contained.Claim(line, key) })
	}
	switch {
	case err == nil:
		return stream, nil
	case errors.Is(err, contained.ErrUnproven), errors.Is(err, contained.ErrClaimed):
		return nil, fmt.Errorf("cannot trust the sandbox %q: %w; remove the sandbox", id.Task, err)
	case e.ends(ctx, c.ID):
		return nil, fmt.Errorf("the sandbox %q is not running: %w", id.Task, sandbox.ErrGone)
	}
	return nil, fmt.Errorf("cannot reach the sandbox %q: %w", id.Task, err)
}

// ends says whether a container has ended, or does in a moment: one that is ending takes
// no more processes.
func (e *Engine) ends(ctx context.Context, id string) bool {
	const patience = time.Second
	for bound := time.Now().Add(patience); ctx.Err() == nil && time.Now().Before(bound); time.Sleep(patience / 50) {
		if e.hasEnded(ctx, id) {
			return true
		}
	}
	return false
}

// claim gives a guest that was just started its key. That it has none yet need not be
// asked: in a sandbox of few processes there may be no room for another one to ask by.
func (e *Engine) claim(ctx context.Context, id sandbox.Identity, c container.InspectResponse, l link) error {
	key := contained.Key(l.Key)
	if stream, err := e.openBridge(ctx, c.ID, func(line io.ReadWriter) error { return contained.Claim(line, key) }); err == nil {
		return stream.Close()
	}
	stream, err := e.bridge(ctx, id, c, l)
	if err != nil {
		return err
	}
	return stream.Close()
}

// bridged is a stream that a process in the container carries.
type bridged struct {
	attached client.HijackedResponse
	output   *io.PipeReader
	said     said
	once     sync.Once
}

// openBridge starts a carrying process, and lets the two ends greet each other.
func (e *Engine) openBridge(ctx context.Context, id string, greet func(io.ReadWriter) error) (*bridged, error) {
	b, err := e.carry(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := b.within(ctx, func() error { return greet(b) }); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

func (e *Engine) carry(ctx context.Context, id string) (*bridged, error) {
	made, err := e.api.ExecCreate(ctx, id, client.ExecCreateOptions{
		User: "0:0", AttachStdin: true, AttachStdout: true, AttachStderr: true, WorkingDir: "/",
		Cmd: []string{contained.Program, contained.BridgeMode},
	})
	if err != nil {
		return nil, explain(err)
	}
	attached, err := e.api.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		return nil, explain(err)
	}
	r, w := io.Pipe()
	b := &bridged{attached: attached.HijackedResponse, output: r}
	go func() {
		_, err := stdcopy.StdCopy(w, &b.said, attached.Reader)
		if err == nil {
			err = io.EOF
		}
		if text := b.said.text(); text != "" {
			err = fmt.Errorf("%s: %w", text, io.ErrUnexpectedEOF)
		}
		w.CloseWithError(err)
	}()
	return b, nil
}

func (b *bridged) Read(p []byte) (int, error)  { return b.output.Read(p) }
func (b *bridged) Write(p []byte) (int, error) { return b.attached.Conn.Write(p) }

// Close ends the stream, and with it the process that carries it.
func (b *bridged) Close() error {
	b.once.Do(func() {
		b.attached.Close()
		b.output.Close()
	})
	return nil
}

// within does something with the stream for no longer than is sensible.
func (b *bridged) within(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, bridgeBound)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { b.Close() })
	err := do()
	if !stop() {
		return ctx.Err()
	}
	return err
}

// said keeps what the carrying process complains of.
type said struct {
	mu   sync.Mutex
	kept []byte
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const most = 1 << 10
	s.kept = append(s.kept, p[:min(len(p), most-len(s.kept))]...)
	return len(p), nil
}

func (s *said) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.kept)
}
