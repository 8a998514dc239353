package lease

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// noLocks is a file system without them, blindLocks one whose locks do not leave the machine.
type noLocks struct{}

func (noLocks) Lock(*os.File) error { return ErrNoLocks }
func (noLocks) Test(*os.File) error { return ErrNoLocks }
func (noLocks) Reach(*os.File) bool { panic("there are none") }

type blindLocks struct{}

func (blindLocks) Lock(*os.File) error { return nil }
func (blindLocks) Test(*os.File) error { return nil }
func (blindLocks) Reach(*os.File) bool { return false }

// clock stands until it is set; who waits for it goes on when the test says so.
type clock struct {
	mu      sync.Mutex
	now     time.Time
	waiting chan chan time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), waiting: make(chan chan time.Time)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *clock) After(time.Duration) <-chan time.Time {
	ready := make(chan time.Time)
	go func() { c.waiting <- ready }()
	return ready
}

// pass lets one waiter go on.
func (c *clock) pass() { close(<-c.waiting) }

func (c *clock) options(locks Locks, self Holder) Options {
	self.PID = 1
	return Options{Self: self, Locks: locks, Now: c.Now, After: func(d time.Duration) <-chan time.Time {
		if d == settle {
			done := make(chan time.Time)
			close(done)
			return done
		}
		return c.After(d)
	}}
}

func TestWithoutLocksTheHeartbeatDecides(t *testing.T) {
	for what, c := range map[string]struct {
		locks  Locks
		second Holder
		age    time.Duration
		held   bool
	}{
		"no locks, fresh":                 {noLocks{}, Holder{Boot: "b"}, Stale - time.Second, true},
		"no locks, same machine":          {noLocks{}, Holder{Boot: "a"}, Stale - time.Second, true},
		"no locks, stale":                 {noLocks{}, Holder{Boot: "b"}, Stale, false},
		"no locks, same container":        {noLocks{}, Holder{Boot: "a", Container: "c1"}, time.Second, false},
		"no locks, its name elsewhere":    {noLocks{}, Holder{Boot: "b", Container: "c1"}, time.Second, true},
		"no locks, from the far future":   {noLocks{}, Holder{Boot: "b"}, -Stale, false},
		"no locks, clocks differ":         {noLocks{}, Holder{Boot: "b"}, -time.Minute, true},
		"blind locks, another machine":    {blindLocks{}, Holder{Boot: "b"}, time.Second, true},
		"blind locks, stale":              {blindLocks{}, Holder{Boot: "b"}, Stale, false},
		"blind locks, the same machine":   {blindLocks{}, Holder{Boot: "a"}, time.Second, false},
		"real locks, after another boot":  {kernel{}, Holder{Boot: "b"}, time.Second, false},
		"real locks, released before all": {kernel{}, Holder{Boot: "b"}, 0, false},
	} {
		t.Run(what, func(t *testing.T) {
			clock := newClock()
			fd := dirFD(t, t.TempDir())
			first, err := Take(t.Context(), fd, clock.options(c.locks, Holder{Boot: "a", Container: "c1", Host: "first"}))
			if err != nil {
				t.Fatal(err)
			}
			first.file.Close() // it crashed
			clock.add(c.age)
			o := clock.options(c.locks, c.second)
			if held, err := Look(fd, o); err != nil || (held != nil) != c.held {
				t.Errorf("it looks like %v, %v", held, err)
			}
			second, err := Take(t.Context(), fd, o)
			if c.held != (err != nil) {
				t.Fatalf("the error is %v", err)
			}
			var held *HeldError
			if c.held && (!errors.As(err, &held) || held.Holder.Host != "first") {
				t.Errorf("the holder is not named: %v", err)
			}
			second.Release()
		})
	}
}

func TestAReleaseIsKnownWithoutLocks(t *testing.T) {
	clock, fd := newClock(), dirFD(t, t.TempDir())
	first, err := Take(t.Context(), fd, clock.options(noLocks{}, Holder{Boot: "a"}))
	if err != nil {
		t.Fatal(err)
	}
	first.Release()
	first.Release()
	if _, err := Take(t.Context(), fd, clock.options(noLocks{}, Holder{Boot: "b"})); err != nil {
		t.Error(err)
	}
}

// Of two who sign at the same moment, the one whose name stands keeps it.
func TestTwoSignAtTheSameMoment(t *testing.T) {
	clock, fd := newClock(), dirFD(t, t.TempDir())
	o := clock.options(noLocks{}, Holder{Boot: "a"})
	o.After = clock.After // the first waits whether it is challenged
	result := make(chan error)
	go func() { _, err := Take(t.Context(), fd, o); result <- err }()
	waiter := <-clock.waiting
	overwrite(t, fd, Holder{Boot: "b", Claim: "another", Host: "second", Beat: clock.Now()})
	close(waiter)
	var held *HeldError
	if err := <-result; !errors.As(err, &held) || held.Holder.Host != "second" {
		t.Errorf("the first is told %v", err)
	}
}

func overwrite(t *testing.T, dir int, h Holder) {
	t.Helper()
	f, err := open(dir, unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	record, err := h.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(record, 0); err != nil {
		t.Fatal(err)
	}
}

func TestTheHeartbeat(t *testing.T) {
	clock, fd := newClock(), dirFD(t, t.TempDir())
	l, err := Take(t.Context(), fd, clock.options(noLocks{}, Holder{Boot: "a", Host: "first"}))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- l.Keep(t.Context()) }()
	for range 10 {
		clock.add(Interval)
		clock.pass()
	}
	waiter := <-clock.waiting // the last one is written
	held, err := Look(fd, clock.options(noLocks{}, Holder{Boot: "b"}))
	if err != nil || held == nil || held.Age != 0 {
		t.Errorf("after five minutes it looks like %+v, %v", held, err)
	}
	overwrite(t, fd, Holder{Boot: "b", Claim: "another", Host: "second", Beat: clock.Now()})
	close(waiter)
	if err := <-ended; !errors.As(err, &held) || held.Holder.Host != "second" {
		t.Errorf("the first goes on: %v", err)
	}
	l.Release()
	if held, err = Look(fd, clock.options(noLocks{}, Holder{Boot: "c"})); err != nil || held == nil || held.Holder.Host != "second" {
		t.Errorf("who lost it signs it off for the other: %v, %v", held, err)
	}
}

func TestAFileThatWasRemovedComesBack(t *testing.T) {
	clock, dir := newClock(), t.TempDir()
	fd := dirFD(t, dir)
	l, err := Take(t.Context(), fd, clock.options(kernel{}, Holder{Boot: "a"}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- l.Keep(ctx) }()
	remove := func() {
		if err := os.Remove(filepath.Join(dir, File)); err != nil {
			t.Fatal(err)
		}
	}
	waiter := <-clock.waiting
	remove()
	close(waiter)
	waiter = <-clock.waiting
	if said, _ := other(t, dir); said == "held\n" {
		t.Error("another one took it")
	}
	remove()
	if said, _ := other(t, dir); said != "held\n" {
		t.Fatal(said)
	}
	close(waiter)
	var held *HeldError
	if err := <-ended; !errors.As(err, &held) {
		t.Errorf("it did not notice that another took it: %v", err)
	}
	stop()
}
