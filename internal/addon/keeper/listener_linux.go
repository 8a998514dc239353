package keeper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rundir"
)

// lingering is how long a listener that was given up is still listened on. Whoever has found the socket before it was
// taken away connects within that time.
const lingering = 200 * time.Millisecond

var errLeft = errors.New("the socket was given up")

// listener lets only the same user in, and can be given up without losing anybody who has connected.
type listener struct {
	*net.UnixListener
	made fs.FileInfo // the socket as it was made; another one in its place is another keeper's
	left atomic.Bool
}

func newListener(l *net.UnixListener) *listener {
	l.SetUnlinkOnClose(false)
	made, _ := os.Lstat(l.Addr().String()) // nil if somebody has taken it away already
	return &listener{UnixListener: l, made: made}
}

// Accept returns callers of the same user until nobody is left who has connected before leave.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil && l.left.Load() {
			return nil, errLeft
		}
		if err != nil {
			return nil, err
		}
		if sameUser(c) {
			return c, nil
		}
		c.Close()
	}
}

// leave takes the socket away, under the lock under which sockets are made.
func (l *listener) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), startBound)
	defer cancel()
	path := l.Addr().String()
	lock, err := rundir.Acquire(ctx, lockOf(path))
	if err == nil {
		err = l.unlink(path)
		lock.Release(true)
	}
	l.left.Store(true)
	_ = l.SetDeadline(time.Now().Add(lingering)) // what is queued is accepted first
	return err
}

func (l *listener) unlink(path string) error {
	now, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !(l.made != nil && os.SameFile(now, l.made)) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Remove(path)
}

// sameUser asks the kernel who is at the other end, which cannot be feigned.
func sameUser(c *net.UnixConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	var peer *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	return err == nil && failed == nil && int(peer.Uid) == os.Geteuid()
}

// Inherit takes over the socket that this process was started with, closes every other descriptor that came with it,
// and closes the process itself to debuggers and to /proc: it will hold the secrets of others.
func Inherit() (*net.UnixListener, error) {
	if err := closeInherited(); err != nil {
		return nil, err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("cannot keep this process to itself: %w", err)
	}
	unix.CloseOnExec(listenerFD)
	file := os.NewFile(listenerFD, "socket")
	defer file.Close()
	l, err := net.FileListener(file)
	if err != nil {
		return nil, errors.New("cannot serve backends: nobody handed a socket over; this command is for \"hermes addon call\" to start")
	}
	socket, ok := l.(*net.UnixListener)
	if !ok {
		l.Close()
		return nil, errors.New("cannot serve backends: what was handed over is no socket of this machine")
	}
	return socket, nil
}

// closeInherited closes what whoever started us had open and forgot to keep to himself. What Go itself opens has the
// mark that those lack.
func closeInherited() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("cannot see which descriptors are open: %w", err)
	}
	for _, entry := range open {
		var fd int
		if _, err := fmt.Sscan(entry.Name(), &fd); err != nil || fd <= listenerFD {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
	return nil
}
