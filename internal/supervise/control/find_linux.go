package control

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"hermes.example/hermes/internal/rundir"
)

// Socket is where the supervisor of a container is spoken to, in a directory of its own. Where that cannot be made, as
// on a read-only root, it is Spare if the supervisor is root's, whose run directory is closed to the service user, and
// else SocketName in the supervisor's run directory.
const (
	Socket     = "/run/hermes/" + SocketName
	Spare      = "/tmp/hermes/" + SocketName
	SocketName = "control.sock"
)

// Find returns the socket of the supervisor of this machine: ErrUnreachable if there is none.
func Find() (string, error) {
	places := []string{Socket}
	if dir, err := rundir.Look(); err == nil {
		places = append(places, filepath.Join(dir, SocketName))
	}
	if roots(filepath.Dir(Spare)) {
		places = append(places, Spare)
	}
	for _, path := range places {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("cannot find a supervisor: there is no %s: %w", Socket, ErrUnreachable)
}

// roots says whether a directory is root's. Where anybody can make one, no other is a supervisor's.
func roots(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir() && info.Sys().(*syscall.Stat_t).Uid == 0
}
