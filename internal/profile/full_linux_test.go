package profile

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAFullDiskLeavesNoHalfProfile makes a profile on a file system without room, which only it can see.
func TestAFullDiskLeavesNoHalfProfile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	const inside = "PROFILE_TEST_FULL_DISK"
	if dir := os.Getenv(inside); dir != "" {
		createWithoutRoom(t, dir)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestAFullDiskLeavesNoHalfProfile$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v: %s", err, out)
	}
}

func createWithoutRoom(t *testing.T, dir string) {
	if err := errors.Join(syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""), syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16k")); err != nil {
		t.Fatal(err)
	}
	full := filepath.Join(dir, "full")
	if err := os.WriteFile(full, make([]byte, 16<<10), 0o600); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	home := &Home{Root: dir}
	// Room for no file, and for the first only.
	for _, size := range []int64{16 << 10, 12 << 10} {
		if err := os.Truncate(full, size); err != nil {
			t.Fatal(err)
		}
		if err := home.Create("coder"); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("with %d bytes taken: %v", size, err)
		}
		if names, _, err := home.List(); len(names) > 0 || err != nil {
			t.Errorf("there are the profiles %q (%v)", names, err)
		}
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	if err := home.Create("coder"); err != nil {
		t.Errorf("with room: %v", err)
	}
	for name, want := range map[string][]byte{Mark: soul, "config.yaml": settings} {
		if got, err := os.ReadFile(filepath.Join(home.Dir("coder"), name)); string(got) != string(want) || err != nil {
			t.Errorf("%s is %q (%v)", name, got, err)
		}
	}
}
