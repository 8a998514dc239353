package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/internal/proc"
	"hermes.example/hermes/internal/profile"
)

// The files by which gateways of a profile know of each other. The lock says that there is one, also to other
// containers; the other file who it is.
const (
	lockFile = "gateway.lock"
	pidFile  = profile.PIDFile
)

// instance is the right to be the only gateway of a profile. It ends with the process, however that ends.
type instance struct {
	lock *os.File
	dir  string
}

// holder is who has that right, as the file says.
type holder struct {
	PID        int    `json:"pid"`
	Start      string `json:"start_time"` // of the process, so that a number that is used again is not taken for it
	Supervised bool   `json:"supervised"`
	Kind       string `json:"kind"`
}

const kind = "hermes-gateway"

// settle is how long a lock may be held by somebody whom the file does not name: one that is just starting or ending.
const settle = 2 * time.Second

// claim makes this process the only gateway of the profile. Another one is ended where Replace says so, or else the error.
func claim(ctx context.Context, o Options) (*instance, error) {
	lock, err := os.OpenFile(filepath.Join(o.Dir, lockFile), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot make sure that this is the only gateway of %q: %w", o.Profile, err)
	}
	i := &instance{lock, o.Dir}
	if err := i.obtain(ctx, o); err != nil {
		lock.Close()
		return nil, err
	}
	self := holder{PID: os.Getpid(), Supervised: o.Supervised, Kind: kind}
	if self.Start, err = proc.StartTime(self.PID); err == nil {
		err = i.write(self)
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("cannot write down which gateway of %q runs: %w", o.Profile, err)
	}
	return i, nil
}

func (i *instance) obtain(ctx context.Context, o Options) error {
	for until := time.Now().Add(settle); ; {
		held, err := i.tryLock()
		if err != nil {
			return fmt.Errorf("cannot lock %s: %w", i.lock.Name(), err)
		}
		other := i.holder()
		p, err := open(other)
		switch {
		case err != nil:
			return fmt.Errorf("cannot look at the gateway of %q that runs already: %w", o.Profile, err)
		case p == nil && !held:
			return nil
		case p == nil && time.Now().After(until):
			return fmt.Errorf("cannot run the gateway of %q: somebody holds %s, maybe in another container; end that one first", o.Profile, i.lock.Name())
		case p != nil: // without the lock, too: not every file system has any that work
			if err := p.give(o); err != nil {
				return err
			}
			until = time.Now().Add(settle) // its end gives the lock free
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// tryLock takes the lock, or says that somebody has it. A file system without locks gives it to everybody.
func (i *instance) tryLock() (held bool, err error) {
	err = unix.FcntlFlock(i.lock.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		return true, nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
		return false, nil
	}
	return false, err
}

// holder reads who has the right. What is not ours, or nothing, names nobody.
func (i *instance) holder() holder {
	var h holder
	if content, err := atomicfile.Read(filepath.Join(i.dir, pidFile)); err != nil || json.Unmarshal(content, &h) != nil {
		return holder{}
	}
	return h
}

func (i *instance) write(h holder) error {
	content, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return atomicfile.Replace(filepath.Join(i.dir, pidFile), append(content, '\n'), 0o644)
}

// release takes this process's trace away, and then gives the right up.
func (i *instance) release() {
	if i.holder().PID == os.Getpid() {
		os.Remove(filepath.Join(i.dir, pidFile))
	}
	i.lock.Close()
}
