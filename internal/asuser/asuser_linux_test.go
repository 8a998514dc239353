package asuser

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const stranger = 54321

// hand is that of somebody who owns dir and nothing else.
func hand(t *testing.T) (h *Hand, dir string) {
	if os.Geteuid() != 0 {
		t.Skip("only root can use files as somebody else")
	}
	dir, err := os.MkdirTemp("", "asuser")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, stranger, stranger); err != nil {
		t.Fatal(err)
	}
	h, err = New(User{UID: stranger, GID: stranger, Groups: []int{stranger + 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h, dir
}

func TestFilesAreTheUsers(t *testing.T) {
	h, dir := hand(t)
	file := filepath.Join(dir, "file")
	if err := h.Do(func() error { return os.WriteFile(file, nil, 0o600) }); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != stranger || st.Gid != stranger {
		t.Errorf("the file belongs to %d:%d", st.Uid, st.Gid)
	}
}

func TestWhatIsRootsIsRefused(t *testing.T) {
	h, dir := hand(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("root's"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	for what, do := range map[string]func() error{
		"read through a link":  func() error { _, err := os.ReadFile(link); return err },
		"write through a link": func() error { return os.WriteFile(link, []byte("x"), 0o600) },
		"chown":                func() error { return os.Chown(dir, 0, 0) },
		"write elsewhere":      func() error { return os.WriteFile("/etc/asuser", nil, 0o600) },
	} {
		if err := h.Do(do); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestOthersStayRoot(t *testing.T) {
	h, dir := hand(t)
	if err := h.Do(func() error { return os.Chmod(dir, 0) }); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		done := make(chan error)
		go func() { _, err := os.ReadDir(dir); done <- err }()
		if err := <-done; err != nil {
			t.Fatalf("root lost its rights: %v", err)
		}
	}
}

func TestAfterItsEnd(t *testing.T) {
	h, _ := hand(t)
	h.Close()
	h.Close()
	if err := h.Do(func() error { return nil }); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the error is %v", err)
	}
}

func TestNobodyElsesRights(t *testing.T) {
	var h *Hand
	called := false
	if err := h.Do(func() error { called = true; return nil }); err != nil || !called {
		t.Errorf("called %v, %v", called, err)
	}
	h.Close()
}

// The kernel answers questions about a process, as those of /proc, with its first thread.
func TestTheProcessItselfStaysRoots(t *testing.T) {
	for range 200 {
		h, _ := hand(t)
		status, err := os.ReadFile("/proc/self/status")
		h.Close()
		if err != nil || !strings.Contains(string(status), "Uid:\t0\t0\t0\t0\n") {
			t.Fatalf("the process is another's: %v\n%s", err, status)
		}
	}
}
