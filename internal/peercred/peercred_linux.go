// Package peercred asks the kernel who is at the other end of a socket of this machine, which cannot be feigned.
package peercred

import (
	"net"

	"golang.org/x/sys/unix"
)

// Of is who connected, or who listens where we have connected.
func Of(conn *net.UnixConn) (*unix.Ucred, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var who *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { who, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err != nil {
		return nil, err
	}
	return who, failed
}
