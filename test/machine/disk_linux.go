package machine

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// OnSmallDisk runs a test again, in a process of its own, with a directory that is a file system of that size, as
// "16k", which nobody else sees.
func OnSmallDisk(t *testing.T, size string, test func(t *testing.T, dir string)) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	const inside = "MACHINE_SMALL_DISK"
	if dir := os.Getenv(inside); dir != "" {
		if err := errors.Join(syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""), syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)); err != nil {
			t.Fatal(err)
		}
		test(t, dir)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v: %s", err, out)
	}
}
