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
