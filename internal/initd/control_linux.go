package initd

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/internal/supervise/control"
)

// listen makes the control socket for a user: in its usual place or, where we may not write there, where clients look
// next.
func listen(uid int) (net.Listener, error) {
	l, err := control.Listen(control.Socket, uid)
	if err == nil {
		return l, nil
	}
	spare := control.Spare
	if os.Geteuid() != 0 {
		if dir, err := rundir.Find(); err == nil {
			spare = filepath.Join(dir, control.SocketName)
		}
	}
	if l, spareErr := control.Listen(spare, uid); spareErr == nil {
		return l, nil
	}
	return nil, fmt.Errorf("%w; mount a tmpfs at /run or /tmp", err)
}
