package docker

import (
	"net"

	"hermes.example/hermes/internal/peercred"
)

// listensAt says whether the process of that number is the one that listens at the
// other end.
func listensAt(conn net.Conn, pid int) bool {
	who, err := peercred.Of(conn.(*net.UnixConn))
	return err == nil && pid > 0 && int(who.Pid) == pid
}
