package keeper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/peercred"
	"hermes.example/hermes/internal/rundir"
)

// listener lets only the same user in.
type listener struct {
	*net.UnixListener
	made fs.FileInfo // the socket as it was made; another one in its place is another keeper's
}

func newListener(l *net.UnixListener) *listener {
	l.SetUnlinkOnClose(false)
	made, _ := os.Lstat(l.Addr().String()) // nil if somebody has taken it away already
	return &listener{UnixListener: l, made: made}
}

// Accept returns callers of the same user.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if sameUser(c) {
			return c, nil
		}
		c.Close()
	}
}

// leave takes the socket away, under the lock under which sockets are made. Who has connected and was not heard yet
// sees the connection end, and calls the next keeper.
func (l *listener) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), startBound)
	defer cancel()
	path := l.Addr().String()
	lock, err := rundir.Acquire(ctx, lockOf(path))
	if err == nil {
		err = l.unlink(path)
		lock.Release(true)
	}
	return errors.Join(err, l.Close())
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

func sameUser(c *net.UnixConn) bool {
	who, err := peercred.Of(c)
	return err == nil && int(who.Uid) == os.Geteuid()
}

// Inherit takes over the socket that this process was started with, closes every other descriptor that came with it,
// and closes the process itself to debuggers and to /proc: it will hold the secrets of others.
func Inherit() (*net.UnixListener, error) {
	if listening, err := unix.GetsockoptInt(listenerFD, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil || listening == 0 {
		return nil, errors.New("cannot serve backends: nobody handed a socket over; \"hermes addon call\" does, and starts this command itself")
	}
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
		return nil, fmt.Errorf("cannot serve backends: %w", err)
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
