package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/sandbox/enginetest/account"
)

// ordinaryUser is a user that the tests make for themselves when the first of them needs it.
type ordinaryUser struct {
	label string
	ids   bool // has subordinate ids

	once sync.Once
	err  error
	account.Account
}

var users = []*ordinaryUser{{label: "user"}, {label: "user with ids", ids: true}}

func (u *ordinaryUser) make() error {
	u.once.Do(func() { u.Account, u.err = account.Make(u.ids) })
	return u.err
}

// removeUsers removes the users that this run made.
func removeUsers() {
	for _, u := range users {
		if u.Name == "" {
			continue
		}
		if err := u.Remove(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

// everyone runs a test as the caller, and for root as ordinary users too, each in
// a process of its own. The users' run at the same time: most of it is waiting.
func everyone(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	asEach(t, test, (*testing.T).Parallel)
}

// eachAlone is everyone for tests that take what the machine has, or that must hit a
// moment which they measured before.
func eachAlone(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	asEach(t, test, func(*testing.T) {})
}

func asEach(t *testing.T, test func(t *testing.T), begin func(t *testing.T)) {
	t.Helper()
	if os.Getuid() != 0 {
		test(t)
		return
	}
	name := t.Name()
	t.Run("root", test)
	for _, u := range users {
		t.Run(u.label, func(t *testing.T) {
			begin(t)
			u.rerun(t, name)
		})
	}
}

// ordinary runs a test as ordinary users only.
func ordinary(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if os.Getuid() != 0 {
		test(t)
		return
	}
	name := t.Name()
	for _, u := range users {
		t.Run(u.label, func(t *testing.T) { u.rerun(t, name) })
	}
}

const userBound = 15 * time.Minute

// rerun runs the named test of this binary as the user.
func (u *ordinaryUser) rerun(t *testing.T, name string) {
	t.Helper()
	if err := u.make(); err != nil {
		t.Skip(err)
	}
	for _, p := range []string{"attack", "tree"} {
		program(t, p)
	}
	scratch := filepath.Join(base, u.Name)
	os.Mkdir(scratch, 0o700)
	if err := os.Chown(scratch, u.UID, u.GID); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), userBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, self(t), "-test.run=^"+name+"$", "-test.v", "-test.count=1", "-test.timeout="+userBound.String())
	cmd.Dir = scratch
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + scratch, "TMPDIR=" + scratch, "LANG=C.UTF-8",
		asVariable + "=" + u.label, baseVariable + "=" + base}
	for _, e := range os.Environ() {
		if strings.HasPrefix(e, "HERMES_KILLS=") || strings.HasPrefix(e, "HERMES_SOAK=") || strings.HasPrefix(e, "HERMES_SEED=") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID)}, Setsid: true}
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Errorf("as %s: %v\n%s", u.Name, err, out)
	case bytes.Contains(out, []byte("--- SKIP: "+name+" ")):
		t.Skipf("as %s: %s", u.Name, out)
	default:
		t.Logf("as %s:\n%s", u.Name, out)
	}
	if left := processesOf(u.UID); len(left) > 0 {
		t.Errorf("processes of %s are left: %v", u.Name, left)
	}
}
