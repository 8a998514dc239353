//go:build linux

package rmtree

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// deep makes a chain of directories that no path can name.
func deep(t *testing.T, dir string, levels int) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for i := 0; err == nil && i < levels; i++ {
		if err = unix.Mkdirat(fd, "d", 0o755); err != nil {
			break
		}
		next, openErr := unix.Openat(fd, "d", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		unix.Close(fd)
		fd, err = next, openErr
	}
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
}

// TestRemoveWhatItsOwnerClosed takes the power to pass over permissions from its
// thread, as an ordinary user has none.
func TestRemoveWhatItsOwnerClosed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tree")
	for name, mode := range map[string]os.FileMode{"none": 0, "list": 0o400, "walk": 0o100, "read": 0o500} {
		if err := os.MkdirAll(filepath.Join(dir, name, "below", "deep"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, d := range []string{filepath.Join(name, "below"), name} {
			if err := os.Chmod(filepath.Join(dir, d), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		header, none := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
		err := unix.Capset(&header, &none[0])
		if err == nil {
			err = Remove(dir)
		}
		failed <- err
	}()
	if err := <-failed; err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestRemove(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "tree")
	for _, d := range []string{"a/b/c", ".lifted-1", "e"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3000 {
		if err := os.WriteFile(filepath.Join(dir, "e", "f"+string(rune('a'+i%26))+string(rune(0x4e00+i))), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link": outside, "a/file": filepath.Join(outside, "file"), "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	deep(t, dir, 3*deepest+7)
	deep(t, filepath.Join(dir, "a"), 5000)
	if err := Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(outside, "file")); err != nil {
		t.Errorf("it followed a link: %v", err)
	}
}

func TestRemoveOddRoots(t *testing.T) {
	dir := t.TempDir()
	if err := Remove(filepath.Join(dir, "absent")); err != nil {
		t.Error(err)
	}
	target := filepath.Join(dir, "target")
	if err := os.MkdirAll(filepath.Join(target, "kept"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := Empty(link); err == nil {
		t.Error("emptied what a link points to")
	}
	if err := Remove(link); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(target, "kept")); err != nil {
		t.Error(err)
	}
}
