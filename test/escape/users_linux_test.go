package escape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// account is a user of the host that a test made.
type account struct{ uid, gid int }

// newAccount makes a user and removes it with the test.
func newAccount(t *testing.T, subordinate bool) account {
	t.Helper()
	name := fmt.Sprintf("hermes-escape-%d", time.Now().UnixNano()%1_000_000_000)
	kind := "--system" // these get no subordinate ids
	if subordinate {
		kind = "--user-group"
	}
	administer(t, "useradd", kind, "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/bin/sh", name)
	t.Cleanup(func() { administer(t, "userdel", name) })
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	var a account
	a.uid, _ = strconv.Atoi(u.Uid)
	a.gid, _ = strconv.Atoi(u.Gid)
	ranges, _ := os.ReadFile("/etc/subuid")
	if has := strings.Contains("\n"+string(ranges), "\n"+name+":"); has != subordinate {
		t.Skipf("the user %s has subordinate ids: %v (see SUB_UID_COUNT in login.defs)", name, has)
	}
	return a
}

// administer changes the list of users. Another one may have it locked.
func administer(t *testing.T, program string, args ...string) {
	t.Helper()
	const locked = 10
	for try := 0; ; try++ {
		out, err := exec.Command(program, args...).CombinedOutput()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == locked && try < 100 {
			<-time.After(50 * time.Millisecond)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v: %s", program, err, out)
		}
		return
	}
}

// attack attacks in a process of the account, whose directory is below base.
func (a account) attack(t *testing.T, base string, what attack) result {
	t.Helper()
	dir, err := os.MkdirTemp(base, strconv.Itoa(a.uid)+"-")
	if err != nil {
		t.Fatal(err)
	}
	a.furnish(t, dir)
	what.Dir, what.Fork = dir, forkAddress(t)
	text, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	cmd := exec.CommandContext(ctx, what.Programs.Self)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "XDG_RUNTIME_DIR=" + filepath.Join(dir, "run"), attackVariable + "=" + string(text)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}, Pdeathsig: syscall.SIGKILL}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("the attack failed: %v\n%s", err, errs.String())
	}
	var found result
	if err := json.Unmarshal(out.Bytes(), &found); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return found
}

// furnish makes what the account needs: a home with a secret in it, a run directory,
// and directories to mount.
func (a account) furnish(t *testing.T, dir string) {
	t.Helper()
	for name, mode := range map[string]os.FileMode{"": 0o755, "home": 0o700, "run": 0o700, "read-only": 0o755, "shared": 0o777, "empty": 0o755} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(path, mode), os.Chmod(path, mode), os.Chown(path, a.uid, a.gid)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"home/.env", "read-only/file"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte("secret"), 0o644), os.Chown(path, a.uid, a.gid)); err != nil {
			t.Fatal(err)
		}
	}
}

// privilege makes the programs that would give rights to whoever starts them.
func privilege(t *testing.T, p programs) {
	t.Helper()
	netRaw := []byte{1, 0, 0, 2, 0, 1 << (unix.CAP_NET_RAW % 8), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if err := errors.Join(os.Chmod(p.Setuid, 0o755|os.ModeSetuid), unix.Setxattr(p.FileCaps, "security.capability", netRaw, 0)); err != nil {
		t.Fatal(err)
	}
}
