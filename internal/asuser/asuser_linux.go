// Package asuser lets root use files with the rights of another user, as the one who owns a data volume: what
// that user may not read or write, and where its links lead out, is refused by the kernel, and what is made is
// the user's from its first moment.
//
// hermes-init and the supervisor in it use it for every write to the volume that is not a change of owner. The
// user is taken on by a thread of its own and for files only: its other ids stay root's, so the user can
// neither signal nor trace it.
package asuser

import (
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/ownthread"
)

// User is whose rights are used.
type User struct {
	UID, GID int
	Groups   []int
}

// Hand does things with files as a user. A nil one does them as the caller is. It lives until Close.
type Hand struct {
	mu     sync.Mutex
	closed bool
	jobs   chan job
}

type job struct {
	do   func() error
	done chan<- error
}

// New makes the hand of a user; as somebody who is not root it is nil, because everything is the caller's anyway.
func New(u User) (*Hand, error) {
	if os.Geteuid() != 0 || u.UID == 0 {
		return nil, nil
	}
	h := &Hand{jobs: make(chan job)}
	ready := make(chan error)
	go ownthread.Run(func() { h.work(u, ready) })
	if err := <-ready; err != nil {
		return nil, err
	}
	return h, nil
}

// Do calls f on the user's thread, one call after the other. What f starts elsewhere, such as a goroutine, has
// root's rights again: it must do its work itself.
func (h *Hand) Do(f func() error) error {
	if h == nil {
		return f()
	}
	done := make(chan error, 1)
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return fmt.Errorf("cannot use files as another user: %w", os.ErrClosed)
	}
	h.jobs <- job{f, done}
	h.mu.Unlock()
	return <-done
}

// Close ends the thread after the calls that were begun.
func (h *Hand) Close() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.closed = true
		close(h.jobs)
	}
}

// work is the thread. It is not the process's first one: by that everybody else judges who the process is.
func (h *Hand) work(u User, ready chan<- error) {
	err := become(u)
	ready <- err
	if err != nil {
		return
	}
	for j := range h.jobs {
		j.done <- j.do()
	}
}

// become gives this thread the user's rights on files. Package syscall's own calls are for all threads; these are
// the kernel's, for one. Leaving root's file system id takes the capabilities on files away.
func become(u User) error {
	groups := make([]uint32, 0, len(u.Groups)+1)
	groups = append(groups, uint32(u.GID))
	for _, g := range u.Groups {
		groups = append(groups, uint32(g))
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0); errno != 0 {
		return fmt.Errorf("cannot take on the groups of user %d: %w", u.UID, errno)
	}
	unix.RawSyscall(unix.SYS_SETFSGID, uintptr(u.GID), 0, 0)
	unix.RawSyscall(unix.SYS_SETFSUID, uintptr(u.UID), 0, 0)
	// The two cannot fail aloud: the next call tells what the last one did.
	gid, _, _ := unix.RawSyscall(unix.SYS_SETFSGID, ^uintptr(0), 0, 0)
	uid, _, _ := unix.RawSyscall(unix.SYS_SETFSUID, ^uintptr(0), 0, 0)
	if int(uid) != u.UID || int(gid) != u.GID {
		return fmt.Errorf("cannot use files as user %d: the kernel refuses it", u.UID)
	}
	return nil
}
