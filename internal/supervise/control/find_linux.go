package control

import (
	"crypto/sha256"
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
		if there(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("cannot find a supervisor: there is no %s: %w", Socket, ErrUnreachable)
}

// SocketOf is where the supervisor of a home on a machine that is no container is spoken to: in the run directory of
// whoever runs it, so that homes and users do not get in each other's way.
func SocketOf(home string) (string, error) {
	dir, err := rundir.Look()
	if err != nil {
		return "", err
	}
	return in(dir, home), nil
}

// FindOf returns the socket of the supervisor of a home, and else that of the machine: ErrUnreachable if there is none.
func FindOf(home string) (string, error) {
	own, err := SocketOf(home)
	if err == nil && there(own) {
		return own, nil
	}
	// Root asks the supervisor of a home that is another user's.
	if info, err := os.Stat(home); err == nil && os.Geteuid() == 0 {
		if dir, err := rundir.Of(int(info.Sys().(*syscall.Stat_t).Uid)); err == nil && there(in(dir, home)) {
			return in(dir, home), nil
		}
	}
	return Find()
}

func in(dir, home string) string {
	sum := sha256.Sum256([]byte(home))
	return filepath.Join(dir, fmt.Sprintf("control-%x.sock", sum[:6]))
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// roots says whether a directory is root's. Where anybody can make one, no other is a supervisor's.
func roots(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir() && info.Sys().(*syscall.Stat_t).Uid == 0
}
