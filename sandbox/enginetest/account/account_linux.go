// Package account makes ordinary users for tests, and runs tests as them. Only root
// can do that; elsewhere the tests are skipped.
//
// Tests of engines and of the whole program use it. It changes the machine's list of users, and takes every
// change back.
package account

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Account is a user that a test made.
type Account struct {
	Name     string
	UID, GID int
}

// ErrUnavailable is why such a user cannot be had on this machine, by whoever runs the tests.
var ErrUnavailable = errors.New("no such user can be made here")

// New makes a user, with subordinate ids or without, and removes it with the test.
func New(t *testing.T, subordinate bool) Account {
	t.Helper()
	a, err := Make(subordinate)
	switch {
	case errors.Is(err, ErrUnavailable):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Remove(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// Make makes a user, with subordinate ids or without, whom the caller removes. Those that killed tests left are
// removed on the way.
func Make(subordinate bool) (Account, error) {
	if os.Getuid() != 0 {
		return Account{}, fmt.Errorf("%w: only root can make users; the same tests run as the user who runs them", ErrUnavailable)
	}
	for _, program := range []string{"useradd", "userdel"} {
		if _, err := exec.LookPath(program); err != nil {
			return Account{}, fmt.Errorf("%w: %s is missing", ErrUnavailable, program)
		}
	}
	if err := removeLeft(); err != nil {
		return Account{}, err
	}
	a := Account{Name: fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), serial.Add(1))}
	kind := "--system" // these get no subordinate ids
	if subordinate {
		kind = "--user-group"
	}
	if err := administer("useradd", kind, "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/bin/sh", a.Name); err != nil {
		return Account{}, err
	}
	if err := a.lookup(subordinate); err != nil {
		return Account{}, errors.Join(err, a.Remove())
	}
	return a, nil
}

// Remove removes the user, who has no processes any more.
func (a Account) Remove() error { return administer("userdel", a.Name) }

// Users are called by the process that made them, so that others see whether it still needs them.
const prefix = "hermes-test-"

var serial atomic.Int64

// removeLeft removes the users of processes that are gone.
func removeLeft() error {
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(passwd)) {
		name, _, _ := strings.Cut(line, ":")
		of, ours := strings.CutPrefix(name, prefix)
		pid, _, _ := strings.Cut(of, "-")
		if _, err := os.Stat("/proc/" + pid); ours && errors.Is(err, os.ErrNotExist) {
			// Another test may be quicker, and one that has processes stays for later.
			_ = administer("userdel", name)
		}
	}
	return nil
}

// lookup finds out the user's ids, which useradd chose.
func (a *Account) lookup(subordinate bool) error {
	u, err := user.Lookup(a.Name)
	if err != nil {
		return err
	}
	a.UID, _ = strconv.Atoi(u.Uid)
	a.GID, _ = strconv.Atoi(u.Gid)
	switch has, err := hasRange(a.Name); {
	case err != nil:
		return err
	case subordinate && !has:
		return fmt.Errorf("%w: useradd gives no subordinate ids on this machine (see SUB_UID_COUNT in login.defs)", ErrUnavailable)
	case has && !subordinate:
		return fmt.Errorf("the user %s has subordinate ids", a.Name)
	}
	return nil
}

// locked are the statuses of programs that cannot change the list of users, or that of groups.
var locked = []int{1, 10}

// administer runs a program that changes these lists. Another one may have them locked.
func administer(program string, args ...string) error {
	for try := 0; ; try++ {
		out, err := exec.Command(program, args...).CombinedOutput()
		var exit *exec.ExitError
		if errors.As(err, &exit) && slices.Contains(locked, exit.ExitCode()) && try < 100 {
			<-time.After(50 * time.Millisecond)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w: %s", program, err, bytes.TrimSpace(out))
		}
		return nil
	}
}

func hasRange(name string) (bool, error) {
	content, err := os.ReadFile("/etc/subuid")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	return strings.Contains("\n"+string(content), "\n"+name+":"), nil
}
