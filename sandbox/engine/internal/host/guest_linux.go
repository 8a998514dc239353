package host

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/sandbox"
)

// Guest is a living sandbox's process. Only through its descriptor is it ever
// signalled: a number may have been given to another process meanwhile.
type Guest struct {
	Identity sandbox.Identity
	PID      int
	pidfd    int
}

// GuestOf is the guest of an identity, by a descriptor of its process, which it then
// owns.
func GuestOf(id sandbox.Identity, pid, pidfd int) *Guest { return &Guest{id, pid, pidfd} }

// Close gives the descriptor up.
func (g *Guest) Close() { unix.Close(g.pidfd) }

// exited says whether the process is dead, be it not yet waited for.
func (g *Guest) exited() bool {
	fds := []unix.PollFd{{Fd: int32(g.pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1
}

// End sends the guest a signal, and waits until it has ended. Somebody may have
// stopped it; it goes on to take the signal.
func (g *Guest) End(ctx context.Context, signal unix.Signal) error {
	for _, s := range []unix.Signal{signal, unix.SIGCONT} {
		if err := unix.PidfdSendSignal(g.pidfd, s, nil, 0); err != nil && err != unix.ESRCH {
			return fmt.Errorf("cannot end the sandbox %q: %w", g.Identity.Task, err)
		}
	}
	for {
		fds := []unix.PollFd{{Fd: int32(g.pidfd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, 50); err == nil && n == 1 {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the sandbox %q did not end: %w", g.Identity.Task, ctx.Err())
		}
	}
}
