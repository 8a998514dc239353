package keeper

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"

	"hermes.example/hermes/internal/rundir"
)

// socketPrefix begins the names of sockets; their locks are named after them.
const socketPrefix = "addons-"

// lockOf is the lock under which a socket is made and taken away.
func lockOf(socket string) string { return socket + ".lock" }

// socket is where this keeper is. Another environment is another keeper: a proxy or a store is not changed under
// backends that run.
func (k Keeper) socket(find func() (string, error)) (string, error) {
	dir, err := find()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(k.Home + "\x00" + strings.Join(k.Environ, "\x00")))
	return filepath.Join(dir, fmt.Sprintf("%s%x.sock", socketPrefix, sum[:6])), nil
}

// running is where it would be, without making anything.
func (k Keeper) running() (string, error) { return k.socket(rundir.Look) }
