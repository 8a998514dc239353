package jail

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/ownthread"
)

// onDeputy runs f on a thread with the rights of a command.
func onDeputy(t *testing.T, uid, gid, ruleset int, f func()) {
	t.Helper()
	done := make(chan error)
	go ownthread.Run(func() {
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = deputy(uid, gid, ruleset)()
		}
		if err == nil {
			f()
		}
		done <- err
	})
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestADeputyWritesWhereCommandsMay(t *testing.T) {
	open, closed := t.TempDir(), t.TempDir()
	ruleset, _, err := newRuleset([]string{open})
	if err != nil {
		t.Skip(err)
	}
	defer unix.Close(ruleset)
	onDeputy(t, os.Getuid(), os.Getgid(), ruleset, func() {
		if err := os.WriteFile(filepath.Join(open, "f"), nil, 0o600); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(filepath.Join(closed, "f"), nil, 0o600); !errors.Is(err, unix.EACCES) {
			t.Errorf("outside of the writable places: %v", err)
		}
	})
	// Other threads are as they were.
	if err := os.WriteFile(filepath.Join(closed, "f"), nil, 0o600); err != nil {
		t.Error(err)
	}
}

func TestADeputyHasTheRightsOfItsUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can take another user's rights")
	}
	dir := t.TempDir()
	// Its parents are closed to others, so it is reached by a descriptor.
	handle, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	secret := filepath.Join(dir, "secret")
	if err := errors.Join(os.WriteFile(secret, nil, 0o600), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	onDeputy(t, 4321, 4322, -1, func() {
		if fd, err := unix.Openat(int(handle.Fd()), "secret", unix.O_RDONLY|unix.O_CLOEXEC, 0); !errors.Is(err, unix.EACCES) {
			t.Errorf("root's file was opened: %d, %v", fd, err)
		}
		fd, err := unix.Openat(int(handle.Fd()), "mine", unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
		if err != nil {
			t.Error(err)
		}
		unix.Close(fd)
		if caps := effective(t); caps != "0000000000000000" {
			t.Errorf("it has the capabilities %s", caps)
		}
	})
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(dir, "mine"), &st); err != nil || st.Uid != 4321 || st.Gid != 4322 {
		t.Errorf("it belongs to %d:%d, %v", st.Uid, st.Gid, err)
	}
	onDeputy(t, 0, 0, -1, func() {
		// CHOWN, DAC_OVERRIDE, FOWNER, SETGID, SETUID and nothing else.
		if caps := effective(t); caps != "00000000000000cb" {
			t.Errorf("root's has the capabilities %s", caps)
		}
	})
}

func effective(t *testing.T) string {
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		t.Error(err)
	}
	_, rest, _ := strings.Cut(string(status), "CapEff:\t")
	caps, _, _ := strings.Cut(rest, "\n")
	return caps
}
