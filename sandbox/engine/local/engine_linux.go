package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
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

// Connect opens a stream to the guest.
func (e *Engine) Connect(ctx context.Context, id sandbox.Identity) (io.ReadWriteCloser, error) {
	conn, err := e.Core.Connect(ctx, id)
	if err != nil {
		return nil, err
	}
	guest, err := e.answering(id, conn)
	if err == nil {
		guest.Close()
		return conn, nil
	}
	conn.Close()
	switch {
	case errors.Is(err, mark.ErrCommand), errors.Is(err, errOther):
		return nil, fmt.Errorf("cannot trust the sandbox %q: %w, and answers in place of its guest; remove the sandbox", id.Task, err)
	case errors.Is(err, mark.ErrAbove):
		return nil, fmt.Errorf("cannot use the sandbox %q from here: %w, and may not drive those outside of it", id.Task, err)
	}
	// Whoever answered is gone: the guest has ended, or is about to.
	return nil, fmt.Errorf("the sandbox %q is not running: %w", id.Task, sandbox.ErrGone)
}

// errOther means that the other end is a process that is not the sandbox's guest.
var errOther = errors.New("it is another process")

// answering returns the guest at the other end of a connection. The socket is a file
// that commands of the same user can replace: by one of their own, who bear a mark, or
// by that of somebody else. What a guest says in its arguments is true, because it is
// no command.
func (e *Engine) answering(id sandbox.Identity, conn io.ReadWriteCloser) (*host.Guest, error) {
	line := conn.(*net.UnixConn)
	if err := mark.Compare(line); err != nil {
		return nil, err
	}
	pid, pidfd, err := mark.Peer(line)
	if err != nil {
		return nil, err
	}
	if err := e.isGuest(id, pid); err != nil {
		unix.Close(pidfd)
		return nil, err
	}
	return host.GuestOf(id, pid, pidfd), nil
}

// isGuest says whether a process, which is no command, is the sandbox's guest.
func (e *Engine) isGuest(id sandbox.Identity, pid int) error {
	arguments, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	switch {
	case err != nil:
		return err
	case len(arguments) == 0:
		return errors.New("it is ending")
	case string(arguments) != strings.Join(guestArguments(e.RunName(id)), "\x00")+"\x00":
		return errOther
	}
	return nil
}

// guestArguments say whose guest it is. They are for everybody to see.
func guestArguments(runName string) []string { return []string{"hermes-guest", runName} }

// body is what the core asks of this engine.
type body struct{ engine *Engine }

func (b body) Make(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (*host.State, error) {
	return b.engine.create(ctx, id, spec)
}

// patience is how long a guest may take to end what it started.
const patience = 15 * time.Second

// End asks the guest to end all that it started and then itself. Only one that does
// not is killed, because then others have to look for what it leaves. The state that
// names the guest is a file of its commands' user: another process in it is not ours to
// end.
func (b body) End(ctx context.Context, g *host.Guest) error {
	if errors.Is(b.engine.isGuest(g.Identity, g.PID), errOther) {
		return nil
	}
	asked, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if g.End(asked, unix.SIGTERM) == nil {
		return nil
	}
	return g.End(ctx, unix.SIGKILL)
}

// EndUnknown ends the guest that answers, if one does: commands of its user can remove
// its state.
func (b body) EndUnknown(ctx context.Context, id sandbox.Identity) error {
	conn, err := b.engine.Core.Connect(ctx, id)
	if err != nil {
		return nil
	}
	defer conn.Close()
	guest, err := b.engine.answering(id, conn)
	if err != nil {
		return nil
	}
	defer guest.Close()
	return b.End(ctx, guest)
}

// ClearUp ends a guest whose state is gone, and what one has left that did not end by
// itself.
func (b body) ClearUp(ctx context.Context, id sandbox.Identity) error {
	if err := b.EndUnknown(ctx, id); err != nil {
		return err
	}
	return endLeft(ctx, commandPrefix(b.engine.RunName(id)))
}

// RemoveFiles removes a sandbox's files, which are all its caller's to remove.
func (b body) RemoveFiles(_ context.Context, _ sandbox.Identity, _ *host.State, dir string) error {
	return rmtree.Remove(dir)
}
