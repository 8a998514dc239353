package account

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Run runs a test of this program in a process of the account, and shows each of its
// subtests as one of t.
func (a Account) Run(t *testing.T, test string, env ...string) {
	t.Helper()
	home := a.dir(t)
	// By this name, because the account may not walk to where the program is.
	cmd := exec.Command("/proc/self/exe", "-test.v=test2json", "-test.run="+pattern(test), "-test.timeout="+remaining(t))
	cmd.Dir = home
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "HOME="+home, "USER="+a.Name,
		"TMPDIR="+filepath.Join(home, "tmp"), "XDG_RUNTIME_DIR="+filepath.Join(home, "run"))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: uint32(a.UID), Gid: uint32(a.GID)},
		Pdeathsig:  syscall.SIGKILL,
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.endAll(t) })
	passOn(t, out)
	if err := cmd.Wait(); err != nil && !t.Failed() {
		t.Errorf("the tests of %s ended with %v and no test failed", a.Name, err)
	}
}

// dir makes what an ordinary user's session has.
func (a Account) dir(t *testing.T) string {
	t.Helper()
	// Not below t.TempDir, whose parents are closed to others.
	home, err := os.MkdirTemp("/tmp", "hermes-account-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	for _, dir := range []string{home, filepath.Join(home, "tmp"), filepath.Join(home, "run")} {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
		if err := os.Chown(dir, a.UID, a.GID); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// pattern selects in the child what was selected here; a selection of the test's own
// counts when nothing was.
func pattern(test string) string {
	const flag = "-test.run="
	whole := "^" + test + "$"
	test, _, _ = strings.Cut(test, "$/")
	for _, arg := range os.Args[1:] {
		if pattern, ok := strings.CutPrefix(arg, flag); ok {
			if _, sub, nested := strings.Cut(pattern, "/"); nested {
				return "^" + test + "$/" + sub
			}
		}
	}
	return whole
}

// remaining leaves the parent time to report.
func remaining(t *testing.T) string {
	if deadline, ok := t.Deadline(); ok {
		return max(time.Until(deadline)-10*time.Second, time.Second).String()
	}
	return "0"
}

// endAll ends what runs as the account, so that it can be removed. All of it was
// started by this test: the account is the test's own.
func (a Account) endAll(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Error(err)
		return
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		status, err := os.ReadFile(filepath.Join("/proc", e.Name(), "status"))
		if err == nil && strings.Contains(string(status), fmt.Sprintf("\nUid:\t%d\t", a.UID)) && !strings.Contains(string(status), "State:\tZ") {
			t.Errorf("process %d of %s is left", pid, a.Name)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
