//go:build unix

package rundir

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestLookSaysWhatFindWouldAndMakesNothing(t *testing.T) {
	base := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", base)
	want := filepath.Join(base, "hermes")
	if dir, err := Look(); err != nil || dir != want {
		t.Fatalf("%q, %v", dir, err)
	}
	if _, err := os.Lstat(want); !os.IsNotExist(err) {
		t.Fatalf("it was made: %v", err)
	}
	if err := os.Mkdir(want, 0o755); err != nil {
		t.Fatal(err)
	}
	if dir, err := Look(); err != nil || dir != want {
		t.Errorf("%q, %v", dir, err)
	}
	if info, _ := os.Stat(want); info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v is another one", info.Mode())
	}
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(base, "nowhere"))
	if dir, _ := Look(); strings.HasPrefix(dir, base) {
		t.Errorf("%q cannot be made", dir)
	}
}

func TestFindChecksWhatItFinds(t *testing.T) {
	base := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", base)
	dir, err := Find()
	if err != nil || dir != filepath.Join(base, "hermes") {
		t.Fatalf("%q, %v", dir, err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v was not mended", info.Mode())
	}
	os.Remove(dir)
	if err := os.Symlink("/tmp", dir); err != nil {
		t.Fatal(err)
	}
	if err := own(dir); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("a link was taken: %v", err)
	}
	if os.Getuid() == 0 {
		foreign := filepath.Join(base, "foreign")
		os.Mkdir(foreign, 0o700)
		os.Chown(foreign, 4242, 4242)
		if err := own(foreign); err == nil || !strings.Contains(err.Error(), "belongs to user 4242") {
			t.Errorf("a stranger's directory was taken: %v", err)
		}
	}
}

func TestLockHoldsAcrossRemovalOfItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	inside := 0
	var mu, wg = sync.Mutex{}, sync.WaitGroup{}
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 30 {
				l, err := Acquire(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				inside++
				if inside != 1 {
					t.Errorf("%d holders at once", inside)
				}
				mu.Unlock()
				mu.Lock()
				inside--
				mu.Unlock()
				l.Release(i%2 == 0)
			}
		}()
	}
	wg.Wait()
}

func TestAcquireGivesUpWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	l, err := Acquire(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release(true)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Acquire(ctx, path); err == nil || !strings.Contains(err.Error(), "another process holds it") {
		t.Errorf("got %v", err)
	}
}

func TestDueIsTrueOncePerInterval(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stamp")
	if !Due(path, time.Hour) || Due(path, time.Hour) {
		t.Error("not once")
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if !Due(path, time.Hour) {
		t.Error("not again after the interval")
	}
	ahead := time.Now().Add(48 * time.Hour)
	if err := os.Chtimes(path, ahead, ahead); err != nil {
		t.Fatal(err)
	}
	if !Due(path, time.Hour) {
		t.Error("a clock that was set back stops it for ever")
	}
}
