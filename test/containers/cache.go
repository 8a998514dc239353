//go:build linux

package containers

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// beginning is the package's directory; a test may go elsewhere later.
var beginning, _ = os.Getwd()

// cache is the repository's directory for what takes long to make.
func cache(t testing.TB) string {
	t.Helper()
	dir := beginning
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if len(dir) <= 1 {
			t.Fatal("there is no go.mod above this test")
		}
	}
	dir = filepath.Join(dir, ".cache", "containers")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// lock waits until no other process of this user holds it, whichever checkout that one runs in.
func lock(t testing.TB, name string) (unlock func()) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("hermes-test-%d-%s.lock", os.Getuid(), name)), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { f.Close() }
}
