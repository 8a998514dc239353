package escape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/sandbox/enginetest/account"
)

// attacker is a user of the host.
type attacker struct{ account.Account }

// attack attacks in a process of the account, whose directory is below base.
func (a attacker) attack(t *testing.T, base string, what attack) result {
	t.Helper()
	dir, err := os.MkdirTemp(base, strconv.Itoa(a.UID)+"-")
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.UID), Gid: uint32(a.GID)}, Pdeathsig: syscall.SIGKILL}
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
func (a attacker) furnish(t *testing.T, dir string) {
	t.Helper()
	for name, mode := range map[string]os.FileMode{"": 0o755, "home": 0o700, "run": 0o700, "read-only": 0o755, "shared": 0o777, "empty": 0o755} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(path, mode), os.Chmod(path, mode), os.Chown(path, a.UID, a.GID)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"home/.env", "read-only/file"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte("secret"), 0o644), os.Chown(path, a.UID, a.GID)); err != nil {
			t.Fatal(err)
		}
	}
}

// privilege makes the programs that would give rights to whoever starts them.
func privilege(t *testing.T, p attackers) {
	t.Helper()
	netRaw := []byte{1, 0, 0, 2, 0, 1 << (unix.CAP_NET_RAW % 8), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if err := errors.Join(os.Chmod(p.Setuid, 0o755|os.ModeSetuid), unix.Setxattr(p.FileCaps, "security.capability", netRaw, 0)); err != nil {
		t.Fatal(err)
	}
}
