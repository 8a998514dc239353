//go:build !unix

package rundir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Lock is an exclusive lock between processes, held by a file's existence.
type Lock struct{ path string }

// Acquire waits for the lock at path until ctx is done.
func Acquire(ctx context.Context, path string) (*Lock, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			f.Close()
			return &Lock{path}, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("cannot lock: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("cannot lock %s: another process holds it: %w", path, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Release gives the lock up.
func (l *Lock) Release(bool) { os.Remove(l.path) }
