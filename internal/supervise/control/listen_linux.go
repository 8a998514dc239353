package control

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"hermes.example/hermes/internal/peercred"
)

// How many connections there are at the same time. Those who may not speak are told so. Strangers, users and root have
// places of their own: the agent that a user is may take all of its own, but nobody else's.
const (
	mostConnections = 128
	mostStrangers   = 8
)

// longestPath is what the kernel takes as a socket's path.
const longestPath = 107

// caller is whose places a connection takes one of.
type caller int

const (
	strangers caller = iota
	users
	root
	callers
)

// Listen makes the socket, in a directory that only its owner, the caller, can write. Everybody may connect; the
// users named, root and the caller may speak. What a supervisor that was killed has left is removed.
func Listen(path string, speakers ...int) (net.Listener, error) {
	if len(path) > longestPath {
		return nil, fmt.Errorf("cannot make the control socket %s: the path is too long for a socket; set XDG_RUNTIME_DIR to a shorter one", path)
	}
	if err := ownDir(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("cannot make the control socket %s: %w", path, err)
	}
	if err := sweep(path); err != nil {
		return nil, fmt.Errorf("cannot make the control socket %s: %w", path, err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("cannot make the control socket %s: %w", path, errors.Unwrap(err))
	}
	if err := os.Chmod(path, 0o666); err != nil {
		l.Close()
		return nil, fmt.Errorf("cannot make the control socket %s: %w", path, err)
	}
	return &listener{Listener: l, users: append(slices.Clone(speakers), 0, os.Geteuid())}, nil
}

// ownDir makes the directory, or checks that nobody else can put a socket of his own there.
func ownDir(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case owner != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, not to %d", dir, owner, os.Geteuid())
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s can be written by others; chmod go-w it", dir)
	}
	return nil
}

// sweep removes a socket that nobody answers.
func sweep(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != os.ModeSocket {
		return errors.New("something that is no socket is there")
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		c.Close()
		return errors.New("another supervisor answers there")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

// listener knows who connects, and how many.
type listener struct {
	net.Listener
	users []int

	mu    sync.Mutex
	count [callers]int
}

// peer is a connection of somebody who is known.
type peer struct {
	net.Conn
	allowed bool
	once    sync.Once
	leave   func()
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		who := l.who(c)
		p := &peer{Conn: c, allowed: who != strangers}
		if l.enter(p, who) {
			return p, nil
		}
		c.Close()
	}
}

// who says whose places a connection takes one of.
func (l *listener) who(c net.Conn) caller {
	cred, err := peercred.Of(c.(*net.UnixConn))
	switch {
	case err != nil || !slices.Contains(l.users, int(cred.Uid)):
		return strangers
	case cred.Uid == 0:
		return root
	}
	return users
}

// enter takes a place, if there is one.
func (l *listener) enter(p *peer, who caller) bool {
	most := mostConnections
	if who == strangers {
		most = mostStrangers
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count[who] >= most {
		return false
	}
	l.count[who]++
	p.leave = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.count[who]--
	}
	return true
}

func (p *peer) Close() error {
	p.once.Do(p.leave)
	return p.Conn.Close()
}
