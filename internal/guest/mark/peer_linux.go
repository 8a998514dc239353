package mark

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// ErrCommand means that the process at the other end is a command of a sandbox.
var ErrCommand = errors.New("it is a command of a sandbox")

// ErrAbove means that we are a command of a sandbox, and the other end is none.
var ErrAbove = errors.New("this process is itself a command of a sandbox")

// Compare looks at the process at the other end of a connection, which is the one
// that connected, or that listened. A process of a lower rank than ours was marked by
// a guest beside us or below us: it is a command. So a command can neither call a
// guest nor pass itself off as one, whatever files it can read and write.
//
// Compare never takes a process that it could not look at for a good one.
func Compare(conn *net.UnixConn) error {
	pid, pidfd, err := Peer(conn)
	if err != nil {
		return fmt.Errorf("cannot tell who is at the other end: %w", err)
	}
	defer unix.Close(pidfd)
	theirs, ok := Of(pid)
	// Asked now, because until here the number may have been another process's.
	if !ok || ended(pidfd) {
		return errors.New("cannot tell who is at the other end: it has ended")
	}
	ours, _ := Of(0)
	switch {
	case theirs.Rank() < ours.Rank():
		return ErrCommand
	case theirs.Rank() > ours.Rank():
		return ErrAbove
	}
	return nil
}

// Peer returns the process at the other end, with a descriptor of it, which is the
// caller's to close.
func Peer(conn *net.UnixConn) (pid, pidfd int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, -1, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		if cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); failed != nil {
			return
		}
		if pid = int(cred.Pid); pid <= 0 {
			failed = errors.New("it is in another pid namespace")
			return
		}
		pidfd, failed = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
		if failed == unix.ENOPROTOOPT { // before Linux 6.5
			pidfd, failed = unix.PidfdOpen(pid, 0)
		}
	})
	if err == nil {
		err = failed
	}
	return pid, pidfd, err
}

func ended(pidfd int) bool {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err != nil || n > 0
}
