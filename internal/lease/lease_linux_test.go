package lease

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/asuser"
)

// As another process this program holds the lease of a directory until its input ends.
func TestMain(m *testing.M) {
	dir := os.Getenv("LEASE_TEST_DIR")
	if dir == "" {
		os.Exit(m.Run())
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == nil {
		_, err = Take(context.Background(), fd, Options{})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// other is the other process.
func other(t *testing.T, dir string) (said string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LEASE_TEST_DIR="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() { cmd.Process.Kill(); cmd.Wait(); in.Close() })
	t.Cleanup(end)
	buf := make([]byte, 4096)
	n, _ := out.Read(buf)
	return string(buf[:n]), end
}

func dirFD(t *testing.T, dir string) int {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func TestOneHolderOfTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	fd := dirFD(t, dir)
	said, kill := other(t, dir)
	if said != "held\n" {
		t.Fatal(said)
	}
	_, err := Take(t.Context(), fd, Options{})
	var held *HeldError
	host, _ := os.Hostname()
	if !errors.As(err, &held) || held.Holder.Host != host || !strings.Contains(err.Error(), fmt.Sprintf("on host %q", host)) {
		t.Fatalf("the error is %v", err)
	}
	if held, err := Look(fd, Options{}); err != nil || held == nil || held.Holder.PID == os.Getpid() {
		t.Errorf("it looks like %v, %v", held, err)
	}
	// It crashes, and nobody cleans up.
	kill()
	if held, err := Look(fd, Options{}); err != nil || held != nil {
		t.Errorf("after its end it looks like %v, %v", held, err)
	}
	l, err := Take(t.Context(), fd, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if said, _ := other(t, dir); !strings.Contains(said, fmt.Sprint("process ", os.Getpid())) && !strings.Contains(said, "container") {
		t.Errorf("the other is told %q", said)
	}
	l.Release()
	if said, _ := other(t, dir); said != "held\n" {
		t.Errorf("after the release it is told %q", said)
	}
}

// A child does not keep the lease of its parent.
func TestChildrenDoNotInheritIt(t *testing.T) {
	dir := t.TempDir()
	l, err := Take(t.Context(), dirFD(t, dir), Options{})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	l.Release()
	if said, _ := other(t, dir); said != "held\n" {
		t.Errorf("the other is told %q", said)
	}
}

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

// The file is the user's, and one of another user is replaced when nobody has the lease.
func TestTheFileIsTheUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can use files as somebody else")
	}
	dir := t.TempDir()
	fd := dirFD(t, dir)
	for _, uid := range []int{54321, 54322} {
		if err := os.Chown(dir, uid, uid); err != nil {
			t.Fatal(err)
		}
		hand, err := asuser.New(asuser.User{UID: uid, GID: uid})
		if err != nil {
			t.Fatal(err)
		}
		l, err := Take(t.Context(), fd, Options{Hand: hand})
		if err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Fstatat(fd, File, &st, 0); err != nil || int(st.Uid) != uid {
			t.Errorf("the file is %d's, %v", st.Uid, err)
		}
		stranger, err := asuser.New(asuser.User{UID: uid + 1, GID: uid + 1})
		if err != nil {
			t.Fatal(err)
		}
		var held *HeldError
		if _, err := Take(t.Context(), fd, Options{Hand: stranger}); !errors.As(err, &held) {
			t.Errorf("a stranger is told %v", err)
		}
		stranger.Close()
		l.Release()
		if err := hand.Do(func() error { return nil }); !errors.Is(err, os.ErrClosed) {
			t.Errorf("its hand is left open: %v", err)
		}
	}
}

// Whoever locked a file that was just removed has locked nothing.
func TestAFileThatIsRemovedWhileItIsLocked(t *testing.T) {
	dir := t.TempDir()
	remove := func() {
		if err := os.Remove(filepath.Join(dir, File)); err != nil {
			t.Fatal(err)
		}
	}
	l, err := Take(t.Context(), dirFD(t, dir), Options{Locks: &removed{times: 2, remove: remove}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if said, _ := other(t, dir); said == "held\n" {
		t.Error("another one has it, too")
	}
}

// removed is a file system on which somebody removes the file some times, after it was opened.
type removed struct {
	kernel
	times  int
	remove func()
}

func (r *removed) Lock(f *os.File) error {
	if r.times--; r.times >= 0 {
		r.remove()
	}
	return r.kernel.Lock(f)
}

func TestWhatIsNotAFileIsRefused(t *testing.T) {
	for what, place := range map[string]func(at, outside string) error{
		"a link":          func(at, outside string) error { return os.Symlink(outside, at) },
		"a dangling link": func(at, outside string) error { return os.Symlink(outside+"2", at) },
		"a second name":   func(at, outside string) error { return os.Link(outside, at) },
		"a directory":     func(at, _ string) error { return os.Mkdir(at, 0o755) },
		"a pipe":          func(at, _ string) error { return unix.Mkfifo(at, 0o644) },
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			outside := filepath.Join(dir, "outside")
			if err := os.WriteFile(outside, []byte("content"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := place(filepath.Join(dir, File), outside); err != nil {
				t.Fatal(err)
			}
			fd := dirFD(t, dir)
			if _, err := Take(t.Context(), fd, Options{}); err == nil || !strings.Contains(err.Error(), "cannot use "+File) {
				t.Errorf("the error is %v", err)
			}
			if _, err := Look(fd, Options{}); err == nil && what != "a dangling link" {
				t.Error("it can be looked at")
			}
			if text, err := os.ReadFile(outside); err != nil || string(text) != "content" {
				t.Errorf("outside is now %q", text)
			}
			if _, err := os.Lstat(outside + "2"); err == nil {
				t.Error("a file was made at the end of the link")
			}
		})
	}
}

// What nobody can read was written by somebody: as long as it is fresh, and nothing else is known, it counts.
func TestRecordsThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "null", "\ufeff{}", strings.Repeat("x", 1<<20), `{"claim":5}`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, File), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		fd := dirFD(t, dir)
		l, err := Take(t.Context(), fd, Options{})
		if err != nil {
			t.Fatalf("%.20q: %v", text, err)
		}
		if info, err := os.Stat(filepath.Join(dir, File)); err != nil || info.Size() != size {
			t.Errorf("%.20q: it is not written over: %v", text, err)
		}
		l.Release()
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, File), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		o := Options{Locks: noLocks{}, Self: Holder{Boot: "b", PID: 1}}
		if _, err := Take(t.Context(), fd, o); err == nil || !strings.Contains(err.Error(), "left no name") {
			t.Errorf("%.20q: without locks: %v", text, err)
		}
		o.Now = func() time.Time { return time.Now().Add(Stale) }
		if held, err := Look(fd, o); err != nil || held != nil {
			t.Errorf("%.20q: without locks, later: %v, %v", text, held, err)
		}
	}
}

func TestContainerIDs(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	for text, want := range map[string]string{
		"0::/system.slice/docker-" + id + ".scope\n":                                       id,
		"12:pids:/docker/" + id + "\n":                                                     id,
		"800 1 0:1 /var/lib/docker/containers/" + id + "/hostname /etc/hostname rw\n":      id,
		"0::/kubepods/besteffort/pod1/cri-containerd-" + id + ".scope\n":                   id,
		"800 1 0:1 /var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/" + id + "/x\n": "",
		"0::/\n": "",
		"":       "",
	} {
		file := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := container("/nowhere", file); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestAHoldersNameIsOneLine(t *testing.T) {
	held := &HeldError{Holder: Holder{Claim: "x", Container: "\n\x1b[2Jlevel", Host: "a\nb\x1b"}}
	if name := held.Name(); strings.ContainsAny(name, "\n\x1b") {
		t.Errorf("it is shown as %q", name)
	}
}

func TestTheHolderInAFewWords(t *testing.T) {
	id := "b15a46b5935a" + strings.Repeat("0", 52)
	for want, h := range map[string]Holder{
		`process 7 on host "box", heard of 2s ago,`:              {Claim: "x", PID: 7, Host: "box"},
		`container b15a46b5935a on host "box", heard of 2s ago,`: {Claim: "x", PID: 1, Host: "box", Container: id},
		`container b15a46b5935a, heard of 2s ago,`:               {Claim: "x", PID: 1, Host: "b15a46b5935a", Container: id},
		"somebody who left no name":                              {},
	} {
		if got := (&HeldError{Holder: h, Age: 2100 * time.Millisecond}).Name(); got != want {
			t.Errorf("%+v is %q", h, got)
		}
	}
}
