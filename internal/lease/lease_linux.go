// Package lease says who supervises a data volume: at most one container starts gateways on it, however many use
// its files.
//
// hermes-init takes the lease at boot and keeps it while it lives; the command line looks at it. It is a lock on a
// file in the home, which the kernel takes back when its holder dies, with the holder's name and a heartbeat in
// it for where locks do not reach. Nobody ever has to clean it up.
package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/asuser"
)

// File is the lease's name in the home.
const File = ".supervision.lease"

// A holder says every Interval that it lives, and is gone when it has not for Stale.
const (
	Interval = 30 * time.Second
	Stale    = 120 * time.Second
	// settle is how long a claim has to stand unchallenged where no lock decides between two.
	settle = 2 * time.Second
)

// Options are whom the lease is for and what it stands on. Zero values mean this process and the real thing.
type Options struct {
	// Hand opens the file: it is the service user's. Release closes it.
	Hand *asuser.Hand
	Self Holder
	// Locks is what the file system can do.
	Locks Locks
	Now   func() time.Time
	// After is time.After.
	After func(time.Duration) <-chan time.Time
	// Warn is told what a heartbeat could not do.
	Warn func(error)
}

func (o Options) complete() Options {
	if o.Self.Boot == "" && o.Self.PID == 0 {
		o.Self = Self()
	}
	if o.Locks == nil {
		o.Locks = kernel{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	return o
}

// Lease is held from Take to Release, or until this process ends. Keep has to run meanwhile.
type Lease struct {
	o   Options
	dir int

	mu   sync.Mutex
	file *os.File
	self Holder
	// certain means that the lock alone decides: whoever has it is the only one.
	certain bool
}

// Take takes the lease of the home that dir, a descriptor of the caller's, is open on. A *HeldError says that it
// is another's.
func Take(ctx context.Context, dir int, o Options) (*Lease, error) {
	o = o.complete()
	own, err := unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot take the lease: %w", err)
	}
	l := &Lease{o: o, dir: own, self: o.Self}
	l.self.Claim, l.self.Since = rand.Text(), o.Now().UTC()
	if err := l.take(ctx); err != nil {
		unix.Close(own)
		return nil, err
	}
	return l, nil
}

// Look says who has the lease, or nil.
func Look(dir int, o Options) (*HeldError, error) {
	o = o.complete()
	f, err := open(dir, unix.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	free := func() error { return o.Locks.Test(f) }
	_, err = decide(f, o, free)
	var held *HeldError
	if errors.As(err, &held) {
		return held, nil
	}
	return nil, err
}

// replaced is how often a file may be removed while it is being locked. Where it seems to be each time, the file
// system cannot tell its files apart.
const replaced = 3

// take opens, locks and signs the file.
func (l *Lease) take(ctx context.Context) error {
	err := l.lock()
	for try := 0; err == nil && !l.there() && try < replaced; try++ {
		l.drop()
		err = l.lock()
	}
	if err == nil {
		err = l.sign()
	}
	if err == nil && !l.certain {
		err = l.unchallenged(ctx)
	}
	if err != nil {
		l.drop()
	}
	return err
}

func (l *Lease) lock() error {
	f, err := l.open()
	if errors.Is(err, unix.EACCES) {
		// It was left by somebody with other ids.
		if err = l.removeFree(); err == nil {
			f, err = l.open()
		}
	}
	if err != nil {
		return err
	}
	if l.certain, err = decide(f, l.o, func() error { return l.o.Locks.Lock(f) }); err != nil {
		f.Close()
		return err
	}
	l.file = f
	return nil
}

// drop closes the file, and so gives up the lock, without a word to others.
func (l *Lease) drop() {
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

func (l *Lease) open() (f *os.File, err error) {
	err = l.o.Hand.Do(func() error { f, err = open(l.dir, unix.O_RDWR|unix.O_CREAT); return err })
	return f, err
}

// removeFree removes a file that we cannot write, if nobody has the lease. Somebody who takes it at this moment
// finds out with the next heartbeat.
func (l *Lease) removeFree() error {
	held, err := Look(l.dir, l.o)
	if held != nil {
		return held
	}
	if err == nil {
		err = l.o.Hand.Do(func() error { return unix.Unlinkat(l.dir, File, 0) })
	}
	if err != nil && err != unix.ENOENT {
		return refused(err)
	}
	return nil
}

// decide says whether the lease can be had, and whether by its lock alone, after the attempt to lock.
func decide(f *os.File, o Options, lock func() error) (certain bool, err error) {
	before, err := read(f)
	if err != nil {
		return false, err
	}
	now := o.Now()
	held := &HeldError{before, now.Sub(before.Beat)}
	switch err := lock(); {
	case errors.Is(err, ErrLocked):
		return false, held
	case errors.Is(err, ErrNoLocks):
		// Its heartbeat decides, unless it is of the container that we are: it was restarted.
		again := before.Container != "" && before.Container == o.Self.Container && before.Boot == o.Self.Boot
		if before.fresh(now) && !again {
			return false, held
		}
		return false, nil
	case err != nil:
		return false, err
	case o.Locks.Reach(f):
		return true, nil
	}
	// A lock that may not have reached another machine says nothing about one there.
	if before.Boot != o.Self.Boot && before.fresh(now) {
		return false, held
	}
	return false, nil
}

// unchallenged waits whether somebody else has signed at the same moment.
func (l *Lease) unchallenged(ctx context.Context) error {
	select {
	case <-l.o.After(settle):
	case <-ctx.Done():
		return ctx.Err()
	}
	return l.ours()
}

// ours fails if somebody else has signed. The file is opened anew: on a network file system that is when it shows
// what others wrote.
func (l *Lease) ours() error {
	f, err := open(l.dir, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	who, err := read(f)
	if err != nil {
		return err
	}
	if now := l.o.Now(); who.Claim != l.self.Claim && who.fresh(now) {
		return &HeldError{who, now.Sub(who.Beat)}
	}
	return nil
}

// Keep signs again and again until ctx is done. An error says that somebody else has taken the lease, which can
// only happen where locks do not decide or the file was removed.
func (l *Lease) Keep(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.o.After(Interval):
		}
		err := l.beat(ctx)
		var held *HeldError
		if errors.As(err, &held) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			l.o.Warn(err)
		}
	}
}

func (l *Lease) beat(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil || !l.there() {
		// Somebody removed it, and the lock with it.
		l.drop()
		return l.take(ctx)
	}
	if !l.certain {
		err := l.ours()
		var held *HeldError
		if errors.As(err, &held) {
			l.drop() // what stands in it is the other's
		}
		if err != nil {
			return err
		}
	}
	return l.sign()
}

// there says whether the file that we hold is still the one in the home.
func (l *Lease) there() bool {
	var held, now unix.Stat_t
	return unix.Fstat(int(l.file.Fd()), &held) == nil && unix.Fstatat(l.dir, File, &now, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		held.Dev == now.Dev && held.Ino == now.Ino
}

func (l *Lease) sign() error {
	l.self.Beat = l.o.Now().UTC()
	return l.write(l.self)
}

func (l *Lease) write(h Holder) error {
	record, err := h.encode()
	if err == nil {
		_, err = l.file.WriteAt(record, 0)
	}
	if err == nil {
		err = l.file.Truncate(size)
	}
	if err != nil {
		return fmt.Errorf("cannot sign the lease of the home: %w", err)
	}
	return nil
}

// Release gives the lease up, so that the next one need not wait for its heartbeat to grow old.
func (l *Lease) Release() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		gone := l.self
		gone.Beat = time.Time{}
		if err := l.write(gone); err != nil {
			l.o.Warn(err)
		}
		l.drop()
	}
	if l.dir >= 0 {
		unix.Close(l.dir)
		l.dir = -1
	}
	l.o.Hand.Close()
}
