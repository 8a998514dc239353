package initd

import (
	"errors"
	"net"
	"path/filepath"

	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/internal/supervise/control"
)

// listen makes the control socket for a user: in its usual place or, where we may not write there, in our run
// directory, where clients look next.
func listen(uid int) (net.Listener, error) {
	l, err := control.Listen(control.Socket, uid)
	if err == nil {
		return l, nil
	}
	dir, dirErr := rundir.Find()
	if dirErr != nil {
		return nil, errors.Join(err, dirErr)
	}
	return control.Listen(filepath.Join(dir, control.SocketName), uid)
}
