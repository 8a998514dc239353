package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/spawn"
	"hermes.example/hermes/internal/supervise/tree"
)

// notifyVariable tells a service which descriptor it says on that it is ready.
const notifyVariable = "HERMES_NOTIFY_FD"

// highestNotify is below the numbers that the start itself uses.
const highestNotify = 127

// check says whether a service can be what its caller says.
func (v *Supervisor) check(s *Service) error {
	bad := func(why string) error { return fmt.Errorf("cannot register service %q: %s", s.Name, why) }
	odd := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_')
	}
	switch {
	case s.Name == "" || len(s.Name) > 255 || strings.ContainsFunc(s.Name, odd):
		return bad("a name has 1 to 255 letters, digits, - and _")
	case len(s.Argv) == 0 || !filepath.IsAbs(s.Argv[0]):
		return bad("its program is not an absolute path")
	case s.Dir != "" && !filepath.IsAbs(s.Dir):
		return bad("its directory is not an absolute path")
	case s.Log != "" && !filepath.IsAbs(s.Log):
		return bad("its log is not an absolute path")
	case s.Ready.Notify != 0 && (s.Ready.Notify < 3 || s.Ready.Notify > highestNotify):
		return bad("it says that it is ready on a descriptor that is not one of 3 to 127")
	case s.Lifeline != 0 && (s.Lifeline < 3 || s.Lifeline > highestNotify || s.Lifeline == s.Ready.Notify):
		return bad("its lifeline is not a descriptor of its own from 3 to 127")
	case os.Geteuid() == 0 && !v.options.Root && (s.User == nil || s.User.UID == 0):
		return bad("it would run as root; a service runs as the service user")
	}
	return nil
}

// spawn starts a process of a service: in a session of its own, with nothing but its own input, output and
// notification, and no signal ignored or blocked.
func (s *Supervisor) spawn(service *Service) (_ *process, err error) {
	var ours, theirs []*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			f.Close()
		}
	}
	defer func() {
		closeAll(theirs)
		if err != nil {
			closeAll(ours)
			err = fmt.Errorf("cannot run %s: %w", service.Argv[0], err)
		}
	}()
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = readable(); err == nil {
			ours, theirs = append(ours, r), append(theirs, w)
		}
		return r, w, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	theirs = append(theirs, null)
	said, say, err := pipe()
	if err != nil {
		return nil, err
	}
	t := s.forest.Plant()
	c := &spawn.Command{
		Path: service.Argv[0], Argv: service.Argv, Dir: service.Dir, Cgroup: t.Cgroup(), Rlimits: limits(service.Limits),
		Env:   append(slices.Clip(service.Env), t.Mark()),
		Files: map[int]int{0: int(null.Fd()), 1: int(say.Fd()), 2: int(say.Fd())},
	}
	if u := service.User; u != nil && os.Geteuid() == 0 {
		c.UID, c.GID, c.Groups = u.UID, u.GID, groups(u)
	}
	p := &process{service: service, began: time.Now(), killed: make(chan struct{}), endTree: t.End, notified: func() bool { return false }}
	var notified *os.File
	if n := service.Ready.Notify; n > 0 {
		var notify *os.File
		if notified, notify, err = pipe(); err != nil {
			return nil, err
		}
		c.Files[n] = int(notify.Fd())
		c.Env = append(c.Env, notifyVariable+"="+strconv.Itoa(n))
		p.notified = func() bool { return saysReady(notified) }
	}
	if n := service.Lifeline; n > 0 {
		if c.Files[n], err = s.line.end(); err != nil {
			return nil, err
		}
		c.Env = append(c.Env, lifelineVariable+"="+strconv.Itoa(n))
	}
	if p.pid, p.exited, err = s.fork(t, c); err != nil {
		t.Close()
		return nil, err
	}
	t.Rooted(p.pid)
	p.signal = func(sig syscall.Signal) {
		send := func(pid int) error { return tree.Signal(pid, sig) }
		if err := s.options.Reaper.Signal(p.pid, send); err != nil {
			s.journal.tell(slog.LevelError, "a service cannot be signalled", "service", service.Name, "pid", p.pid, "error", err)
		}
	}
	out := s.listen(service, said)
	p.close = func() {
		out.close()
		if notified != nil {
			notified.Close()
		}
		t.Close()
	}
	return p, nil
}

// fork starts the process, without a cgroup where the kernel or a filter refuses to bear one there.
func (s *Supervisor) fork(t *tree.Tree, c *spawn.Command) (int, <-chan syscall.WaitStatus, error) {
	start := func() (int, error) {
		p, err := spawn.Start(c)
		if err != nil {
			return 0, err
		}
		unix.Close(p.PIDFD)
		return p.PID, nil
	}
	pid, exited, err := s.options.Reaper.Start(start)
	var failure *spawn.Error
	if c.Cgroup >= 0 && errors.As(err, &failure) && failure.Step == "fork" && failure.Errno != unix.EAGAIN && failure.Errno != unix.ENOMEM {
		t.WithoutCgroup()
		c.Cgroup = -1
		pid, exited, err = s.options.Reaper.Start(start)
	}
	return pid, exited, err
}

// closeOnExec keeps what this process itself was born with from the services. All that Go opens is so already.
func closeOnExec() {
	entries, _ := os.ReadDir("/proc/self/fd") // without it there is nothing to be found
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// readable is a pipe of which the service's end blocks, as programs expect it, and ours is waited for by the poller.
func readable() (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "output"), os.NewFile(uintptr(fds[1]), "service"), nil
}

// saysReady waits for the line by which a service says that it is ready. What it says in the line means nothing.
func saysReady(f *os.File) bool {
	var buf [64]byte
	for {
		n, err := f.Read(buf[:])
		if bytes.IndexByte(buf[:n], '\n') >= 0 {
			return true
		}
		if err != nil {
			return false
		}
	}
}

func groups(u *User) []uint32 {
	ids := []uint32{uint32(u.GID)}
	for _, g := range u.Groups {
		ids = append(ids, uint32(g))
	}
	return ids
}

// ordinaryFiles is the soft limit of open files that services get where Go has raised our own: programs that use
// select fail above it, and those that want more raise it themselves.
const ordinaryFiles = 1024

// limits are a service's, as far as we may set them: a limit above our own needs a privilege that containers lack.
func limits(wanted []Limit) []spawn.Rlimit {
	var set []spawn.Rlimit
	var files unix.Rlimit
	// Go raises the soft limit to just below the other one.
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil && files.Cur == files.Max-1 {
		set = append(set, spawn.Rlimit{Resource: unix.RLIMIT_NOFILE, Value: unix.Rlimit{Cur: min(ordinaryFiles, files.Max), Max: files.Max}})
	}
	for _, l := range wanted {
		var own unix.Rlimit
		if unix.Getrlimit(l.Resource, &own) != nil {
			continue
		}
		most := min(l.Max, own.Max)
		set = append(set, spawn.Rlimit{Resource: uintptr(l.Resource), Value: unix.Rlimit{Cur: min(l.Soft, most), Max: most}})
	}
	return set
}
