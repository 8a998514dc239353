package s6

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/internal/supervise"
)

const stranger = 54321

// real is a scan directory of an ordinary user, with an s6-svscan of that user on it if it was asked for.
type real struct {
	*Driver
	t    testing.TB
	user *supervise.User
	home string // the user's
	scan string
	said *said
	cmd  *exec.Cmd
}

// newReal makes the directory and the driver. As root the driver uses somebody else's rights; as anybody else its own.
func newReal(t testing.TB) *real {
	t.Helper()
	if _, err := exec.LookPath("s6-svscan"); err != nil {
		t.Skip("there is no s6")
	}
	home, err := os.MkdirTemp("", "s6")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	r := &real{t: t, home: home, scan: filepath.Join(home, "service"), said: &said{}}
	if err := os.Mkdir(r.scan, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		r.user = &supervise.User{UID: stranger, GID: stranger, Groups: []int{stranger + 1}}
		for _, dir := range []string{r.home, r.scan} {
			if err := os.Chown(dir, stranger, stranger); err != nil {
				t.Fatal(err)
			}
		}
	}
	if r.Driver, err = New(Options{ScanDir: r.scan, User: r.user}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// newScanned is newReal with a scanner.
func newScanned(t testing.TB) *real {
	t.Helper()
	r := newReal(t)
	r.start()
	return r
}

// start starts the scanner and returns when it takes orders. It is ended with the test.
func (r *real) start() {
	r.t.Helper()
	r.cmd = exec.Command("s6-svscan", r.scan)
	r.cmd.Stdout, r.cmd.Stderr = r.said, r.said
	r.cmd.Dir = r.home
	r.cmd.Env = []string{"PATH=" + r.decoys() + ":/usr/bin:/bin", "NOBODYS=business"}
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if r.user != nil {
		r.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: stranger, Gid: stranger, Groups: []uint32{stranger + 1}}
	}
	r.cmd.WaitDelay = time.Second
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { r.cmd.Wait(); close(done) }()
	r.t.Cleanup(func() {
		r.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			r.cmd.Process.Kill()
			<-done
			r.t.Errorf("the scanner did not end; it said\n%s", r.said)
		}
	})
	r.eventually("the scanner takes orders", r.scanned)
}

// decoys is a directory of programs that the scripts must not take for the system's.
func (r *real) decoys() string {
	r.t.Helper()
	dir := filepath.Join(r.home, "decoys")
	r.ok(os.MkdirAll(dir, 0o755))
	for _, name := range []string{"cat", "env", "date", "id", "s6-log"} {
		r.ok(os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/false\n"), 0o755))
	}
	return dir
}

func (r *real) eventually(what string, is func() bool) {
	r.t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("never came true: %s; the scanner said\n%s", what, r.said)
		}
	}
}

// service is a shell script.
func (r *real) service(name, script string) supervise.Service {
	return supervise.Service{Name: name, Argv: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: r.home, User: r.user}
}

func (r *real) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// absent says whether a file is not there.
func absent(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist)
}

// said is what several processes write and a test reads meanwhile.
type said struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}
