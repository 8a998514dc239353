package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	accounting "hermes.example/hermes/sandbox/enginetest/account"
)

// account is an ordinary user that the tests make for themselves.
type account struct {
	label, name string
	ids         bool // has subordinate ids

	once     sync.Once
	made     bool
	err      error
	uid, gid int
}

// Each run has users of its own, so that two runs do not take the other's
// processes for theirs.
const accountPrefix = "hermesfault"

var accounts = []*account{
	{label: "user", name: fmt.Sprintf("%s%d", accountPrefix, os.Getpid())},
	{label: "user with ids", name: fmt.Sprintf("%s%di", accountPrefix, os.Getpid()), ids: true},
}

func (a *account) make() error {
	a.once.Do(func() {
		args := []string{"--no-create-home", "--shell", "/bin/sh", "--user-group"}
		if !a.ids {
			args = append(args, "--key", "SUB_UID_COUNT=0", "--key", "SUB_GID_COUNT=0")
		}
		if err := accounting.Administer("useradd", append(args, a.name)...); err != nil {
			a.err = fmt.Errorf("cannot make the user %s: %w", a.name, err)
			return
		}
		a.made = true
		a.uid, a.gid, a.err = lookup(a.name)
		subuid, _ := os.ReadFile("/etc/subuid")
		if has := strings.Contains("\n"+string(subuid), "\n"+a.name+":"); a.err == nil && has != a.ids {
			a.err = fmt.Errorf("the user %s has subordinate ids: %v, and should have: %v", a.name, has, a.ids)
		}
	})
	return a.err
}

func lookup(name string) (uid, gid int, err error) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0, err
	}
	uid, _ = strconv.Atoi(u.Uid)
	gid, _ = strconv.Atoi(u.Gid)
	return uid, gid, nil
}

// removeAccounts removes the users that this run made, and those of runs that were
// killed.
func removeAccounts() {
	for _, a := range accounts {
		if a.made {
			accounting.Administer("userdel", a.name)
		}
	}
	passwd, _ := os.ReadFile("/etc/passwd")
	for line := range strings.Lines(string(passwd)) {
		name, _, _ := strings.Cut(line, ":")
		pid, ours := strings.CutPrefix(name, accountPrefix)
		if _, err := os.Stat("/proc/" + strings.TrimSuffix(pid, "i")); ours && err != nil {
			accounting.Administer("userdel", name)
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
	for _, a := range accounts {
		t.Run(a.label, func(t *testing.T) {
			begin(t)
			a.rerun(t, name)
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
	for _, a := range accounts {
		t.Run(a.label, func(t *testing.T) { a.rerun(t, name) })
	}
}

const userBound = 15 * time.Minute

// rerun runs the named test of this binary as the user.
func (a *account) rerun(t *testing.T, name string) {
	t.Helper()
	if err := a.make(); err != nil {
		t.Skip(err)
	}
	for _, p := range []string{"attack", "tree"} {
		program(t, p)
	}
	scratch := filepath.Join(base, a.name)
	os.Mkdir(scratch, 0o700)
	if err := os.Chown(scratch, a.uid, a.gid); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), userBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, self(t), "-test.run=^"+name+"$", "-test.v", "-test.count=1", "-test.timeout="+userBound.String())
	cmd.Dir = scratch
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + scratch, "TMPDIR=" + scratch, "LANG=C.UTF-8",
		asVariable + "=" + a.label, baseVariable + "=" + base}
	for _, e := range os.Environ() {
		if strings.HasPrefix(e, "HERMES_KILLS=") || strings.HasPrefix(e, "HERMES_SOAK=") || strings.HasPrefix(e, "HERMES_SEED=") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}, Setsid: true}
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Errorf("as %s: %v\n%s", a.name, err, out)
	case bytes.Contains(out, []byte("--- SKIP: "+name+" ")):
		t.Skipf("as %s: %s", a.name, out)
	default:
		t.Logf("as %s:\n%s", a.name, out)
	}
	if left := processesOf(a.uid); len(left) > 0 {
		t.Errorf("processes of %s are left: %v", a.name, left)
	}
}
