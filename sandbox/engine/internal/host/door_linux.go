package host

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/sandbox"
)

const (
	socketName = "guest.sock"
	// ownerName is a file in a run directory that says whose it is.
	ownerName = "identity.json"
	// longestSocket is how long the path of a socket may be.
	longestSocket = 107
)

// listen makes a sandbox's run directory and in it the door to its guest, who gets
// it as a descriptor.
func (c *Core) listen(id sandbox.Identity) (*net.UnixListener, error) {
	run := c.RunDir(id)
	if err := os.Mkdir(run, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make its run directory: %w", err)
	}
	owner, err := json.Marshal(id)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Replace(filepath.Join(run, ownerName), owner, 0o600); err != nil {
		return nil, err
	}
	dir, err := os.Open(run)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socketIn(dir), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("cannot make its socket: %w", err)
	}
	listener.SetUnlinkOnClose(false)
	if err := os.Chmod(filepath.Join(run, socketName), 0o600); err != nil {
		listener.Close()
		return nil, err
	}
	return listener, nil
}

// dialIn connects to the socket in a run directory.
func dialIn(ctx context.Context, run string) (net.Conn, error) {
	path := filepath.Join(run, socketName)
	if len(path) > longestSocket {
		dir, err := os.Open(run)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		path = socketIn(dir)
	}
	return (&net.Dialer{}).DialContext(ctx, "unix", path)
}

// socketIn names the socket by way of an open directory, for paths that are too
// long.
func socketIn(dir *os.File) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), socketName)
}

// holdSpool opens the spool of the sandbox in dir, locked. The guest holds the lock
// as long as it lives, which is what others see of it who share the directory but
// not the machine. Some file systems cannot.
func holdSpool(ctx context.Context, dir string) (*os.File, error) {
	spool, err := os.Open(filepath.Join(dir, SpoolName))
	if err != nil {
		return nil, err
	}
	for bound := time.Now().Add(endBound); unix.Flock(int(spool.Fd()), unix.LOCK_EX|unix.LOCK_NB) == unix.EWOULDBLOCK; {
		// A guest whose creator was killed may be about to end.
		if ctx.Err() != nil || time.Now().After(bound) {
			spool.Close()
			return nil, fmt.Errorf("another host, or another container, runs it: end it there, or choose another task")
		}
		time.Sleep(time.Millisecond)
	}
	return spool, nil
}
