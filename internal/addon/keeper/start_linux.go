package keeper

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/internal/version"
)

// startBound is how long others may take to start a keeper before one gives up: they do it in milliseconds.
const startBound = 10 * time.Second

// listenerFD is where a keeper finds its socket.
const listenerFD = 3

// start sees to it that somebody listens. The socket is made here and handed over: whoever has made it can be
// connected to at once, and nobody waits for a keeper to become ready.
func (k Keeper) start(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, startBound)
	defer cancel()
	lock, err := rundir.Acquire(ctx, lockOf(socket))
	if err != nil {
		return err
	}
	defer lock.Release(true)
	if listens(socket) {
		return nil // another caller was first
	}
	// What a keeper that was killed has left.
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return k.spawn(socket)
}

// listens says whether somebody has the socket, without a word to him.
func listens(socket string) bool {
	c, err := net.DialTimeout("unix", socket, patience)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

func isNobody(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}

func (k Keeper) spawn(socket string) (err error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return fmt.Errorf("cannot make a socket: %w", errors.Unwrap(err))
	}
	defer func() {
		l.SetUnlinkOnClose(err != nil)
		l.Close()
	}()
	if err := os.Chmod(socket, 0o600); err != nil {
		return err
	}
	handed, err := l.File()
	if err != nil {
		return err
	}
	defer handed.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	process, err := os.StartProcess(k.Program, k.Arguments, &os.ProcAttr{
		Dir: "/", Env: k.Environ, Files: []*os.File{null, null, null, handed}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return fmt.Errorf("cannot start a keeper: %w", err)
	}
	return process.Release() // it outlives this process, and whoever adopts it waits for it
}

// Build is what tells this program from any other: its version, and what the toolchain calls its contents.
func Build() string {
	build := version.Current().String()
	program, err := elf.Open("/proc/self/exe")
	if err != nil {
		return build
	}
	defer program.Close()
	if note := program.Section(".note.go.buildid"); note != nil {
		if id, err := note.Data(); err == nil {
			sum := sha256.Sum256(id)
			build += fmt.Sprintf(" %x", sum[:6])
		}
	}
	return build
}
