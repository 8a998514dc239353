package store

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"hermes.example/hermes/test/machine"
)

// TestAQuotaChangesNothing publishes below a limit that others have used up, and with ever more room until there is
// enough. The disk itself is never full.
func TestAQuotaChangesNothing(t *testing.T) {
	_, noLoop := os.Stat("/dev/loop-control")
	if _, err := exec.LookPath("mkfs.btrfs"); err != nil || noLoop != nil {
		t.Skipf("no disk with a quota can be made in a file: %v", cmp.Or(err, noLoop))
	}
	machine.OnSmallDisk(t, "160m", func(t *testing.T, dir string) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		const limit, step = 2 << 20, 8 << 10
		d := &disk{t, dir}
		if err := errors.Join(os.WriteFile(d.path("image"), nil, 0o600), os.Truncate(d.path("image"), 128<<20), os.Mkdir(d.path("now"), 0o755)); err != nil {
			t.Fatal(err)
		}
		d.run("mkfs.btrfs", "-q", d.path("image"))
		d.run("mount", "-o", "loop", d.path("image"), d.path("now"))
		d.run("btrfs", "quota", "enable", d.path("now"))
		d.run("btrfs", "qgroup", "limit", "2M", d.path("now"))
		s := open(t, d.path("now/target"), abi311, tag311)
		publish(t, s, "a.one")
		ballast := d.path("now/ballast")
		leave := func(room int) error {
			if err := os.Remove(ballast); err == nil {
				d.run("sync", "-f", d.path("now"))
			} else if !errors.Is(err, os.ErrNotExist) {
				return err
			}
			if err := os.WriteFile(ballast, make([]byte, limit-room), 0o600); err != nil && !errors.Is(err, syscall.EDQUOT) {
				return err
			}
			return nil
		}
		publishesOnceThereIsRoom(t, s, limit, step, leave, func(err error) bool {
			ours := strings.HasPrefix(err.Error(), "cannot") // else it is the installer's
			return errors.Is(err, syscall.EDQUOT) && !(ours && strings.Contains(err.Error(), "\n"))
		})
	})
}
