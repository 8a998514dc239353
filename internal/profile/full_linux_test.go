package profile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"hermes.example/hermes/test/machine"
)

// TestAFullDiskLeavesNoHalfProfile makes a profile on a file system without room, which only it can see.
func TestAFullDiskLeavesNoHalfProfile(t *testing.T) {
	machine.OnSmallDisk(t, "16k", createWithoutRoom)
}

func createWithoutRoom(t *testing.T, dir string) {
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
