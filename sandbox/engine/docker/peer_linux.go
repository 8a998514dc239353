package docker

import (
	"net"

	"golang.org/x/sys/unix"
)

// listensAt says whether the process of that number is the one that listens at the
// other end.
func listensAt(conn net.Conn, pid int) bool {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil || pid <= 0 {
		return false
	}
	is := false
	err = raw.Control(func(fd uintptr) {
		peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		is = err == nil && int(peer.Pid) == pid
	})
	return err == nil && is
}
