//go:build linux

package spawn

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func newSpawner(t *testing.T) *Spawner {
	t.Helper()
	s, err := New(func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wait(t *testing.T, pid int) syscall.WaitStatus {
	t.Helper()
	var ws syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &ws, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return ws
	}
}

func TestCommandGetsItsFilesDirectoryAndEnvironment(t *testing.T) {
	s := newSpawner(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Start(&Command{
		Path: "/bin/bash", Argv: []string{"bash", "-c", `pwd; echo $A; echo extra >&97; [ -e /proc/self/fd/98 ] || echo closed; read -r _ _ _ _ _ sid _ </proc/$$/stat; [ $sid = $$ ] && echo leader`},
		Env: []string{"A=1", "PATH=/usr/bin:/bin"}, Dir: "/usr", Cgroup: -1,
		Files: map[int]int{0: int(r.Fd()), 1: int(w.Fd()), 2: int(w.Fd()), 97: int(w.Fd())},
	}, unwatched)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	out, _ := io.ReadAll(r)
	if ws := wait(t, p.PID); ws.ExitStatus() != 0 {
		t.Errorf("status %v, output %q", ws, out)
	}
	if got, want := string(out), "/usr\n1\nextra\nclosed\nleader\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
}

func TestFailureNamesTheStepAndLeavesNoChild(t *testing.T) {
	s := newSpawner(t)
	for _, c := range []struct {
		command Command
		step    string
		errno   syscall.Errno
	}{
		{Command{Path: "/no/such/program", Argv: []string{"x"}, Cgroup: -1}, "exec", syscall.ENOENT},
		{Command{Path: "/bin/true", Argv: []string{"x"}, Dir: "/no/such/directory", Cgroup: -1}, "chdir", syscall.ENOENT},
		{Command{Path: "/etc/passwd", Argv: []string{"x"}, Cgroup: -1}, "exec", syscall.EACCES},
	} {
		_, err := s.Start(&c.command, unwatched)
		var e *Error
		if !errors.As(err, &e) || e.Step != c.step || e.Errno != c.errno {
			t.Errorf("%+v: got %v, want %s: %v", c.command, err, c.step, c.errno)
		}
	}
	if _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		t.Errorf("a failed start left a child: wait4 says %v", err)
	}
	if _, err := s.Start(&Command{Path: "a\x00b", Argv: []string{"x"}, Cgroup: -1}, unwatched); err == nil || !strings.Contains(err.Error(), "NUL") {
		t.Errorf("NUL in the path: %v", err)
	}
}

func TestRestrictionsOfTheThreadAreInheritedAndStayThere(t *testing.T) {
	s, err := New(func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Start(&Command{Path: "/bin/grep", Argv: []string{"grep", "NoNewPrivs", "/proc/self/status"}, Cgroup: -1,
		Files:   map[int]int{1: int(w.Fd())},
		Rlimits: []Rlimit{{unix.RLIMIT_CORE, unix.Rlimit{}}}}, unwatched)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	out, _ := io.ReadAll(r)
	wait(t, p.PID)
	if !strings.HasSuffix(strings.TrimSpace(string(out)), "1") {
		t.Errorf("child: %q", out)
	}
	here, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil || here != 0 {
		t.Errorf("another thread has no-new-privileges %d, %v", here, err)
	}
}

func TestManyStartsAtOnce(t *testing.T) {
	s := newSpawner(t)
	var wg sync.WaitGroup
	for range 200 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			garbage := make([]byte, 1<<16) // keep the collector and the stacks moving
			p, err := s.Start(&Command{Path: "/bin/true", Argv: []string{"true"}, Env: []string{"X=" + string(make([]byte, 0))}, Cgroup: -1, Subreaper: true}, unwatched)
			if err != nil {
				t.Error(err)
				return
			}
			if ws := wait(t, p.PID); ws.ExitStatus() != 0 {
				t.Error(ws)
			}
			_ = garbage
		}()
	}
	wg.Wait()
}

// unwatched is a start that nobody guards.
func unwatched() (stop func()) { return func() {} }

func BenchmarkStart(b *testing.B) {
	s, err := New(func() error { return nil })
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p, err := s.Start(&Command{Path: "/bin/bash", Argv: []string{"bash", "-c", "true"}, Env: []string{"PATH=/bin"}, Cgroup: -1}, unwatched)
		if err != nil {
			b.Fatal(err)
		}
		var ws syscall.WaitStatus
		syscall.Wait4(p.PID, &ws, 0, nil)
		unix.Close(p.PIDFD)
	}
}
