//go:build unix

package rundir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Lock is an exclusive lock between processes, on a file that may be removed by
// its holder.
type Lock struct{ f *os.File }

// Acquire waits for the lock at path until ctx is done.
func Acquire(ctx context.Context, path string) (*Lock, error) {
	pause := time.Millisecond
	for {
		l, err := tryAcquire(path)
		if l != nil || err != nil {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("cannot lock %s: another process holds it: %w", path, ctx.Err())
		case <-time.After(pause):
			pause = min(pause*2, 50*time.Millisecond)
		}
	}
}

// tryAcquire returns nil without an error when somebody else holds the lock.
func tryAcquire(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil && sameFile(f, path) {
		return &Lock{f}, nil
	}
	f.Close()
	if err == nil || errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, nil // held, or removed by its last holder: look again
	}
	return nil, fmt.Errorf("cannot lock %s: %w", path, err)
}

func sameFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// Release gives the lock up. With remove the file goes too.
func (l *Lock) Release(remove bool) {
	if remove {
		os.Remove(l.f.Name())
	}
	l.f.Close()
}
