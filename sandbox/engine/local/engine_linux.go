package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/mark"
	"hermes.example/hermes/internal/rmtree"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/internal/host"
)

// Engine makes local sandboxes.
type Engine struct {
	*host.Core
	options Options
}

// New returns the engine, or says why this machine cannot have one.
func New(o Options) (sandbox.Engine, error) {
	e := &Engine{options: o}
	core, err := host.New(o.files(), "-local", body{e})
	if err != nil {
		return nil, err
	}
	e.Core = core
	return e, nil
}

// Capabilities tells what local sandboxes can have.
func (e *Engine) Capabilities() sandbox.Capabilities {
	return sandbox.Capabilities{Direct: true, GuestBuild: e.Build(), Networks: []sandbox.Network{sandbox.NetworkHost}}
}

// Connect opens a stream to the guest. Its socket is a file that commands of the same
// user can replace, so it looks who answers.
func (e *Engine) Connect(ctx context.Context, id sandbox.Identity) (io.ReadWriteCloser, error) {
	conn, err := e.Core.Connect(ctx, id)
	if err != nil {
		return nil, err
	}
	switch err := mark.Compare(conn.(*net.UnixConn)); {
	case err == nil:
		return conn, nil
	case errors.Is(err, mark.ErrCommand):
		err = fmt.Errorf("cannot trust the sandbox %q: a command of a sandbox answers in place of its guest; remove the sandbox", id.Task)
		return nil, errors.Join(err, conn.Close())
	case errors.Is(err, mark.ErrAbove):
		err = fmt.Errorf("cannot use the sandbox %q from here: %w, and may not drive those outside of it", id.Task, err)
		return nil, errors.Join(err, conn.Close())
	default:
		// Whoever answered is gone: the guest has ended, or is about to.
		conn.Close()
		return nil, fmt.Errorf("the sandbox %q is not running: %w", id.Task, sandbox.ErrGone)
	}
}

// body is what the core asks of this engine.
type body struct{ engine *Engine }

func (b body) Make(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (*host.State, error) {
	return b.engine.create(ctx, id, spec)
}

// patience is how long a guest may take to end what it started.
const patience = 15 * time.Second

// End asks the guest to end all that it started and then itself. Only one that does
// not is killed, because then others have to look for what it leaves.
func (b body) End(ctx context.Context, g *host.Guest) error {
	asked, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if g.End(asked, unix.SIGTERM) == nil {
		return nil
	}
	return g.End(ctx, unix.SIGKILL)
}

// ClearUp ends what a guest has left that did not end by itself.
func (b body) ClearUp(ctx context.Context, id sandbox.Identity) error {
	return endLeft(ctx, commandPrefix(b.engine.RunName(id)))
}

// RemoveFiles removes a sandbox's files, which are all its caller's to remove.
func (b body) RemoveFiles(_ context.Context, _ sandbox.Identity, _ *host.State, dir string) error {
	return rmtree.Remove(dir)
}
