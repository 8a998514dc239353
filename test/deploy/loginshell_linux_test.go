package deploy

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// What the service user can write is not on the search path of root's login shells: Debian's own has nothing of it.
func TestRootsLoginShellsDoNotSearchTheVolume(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has root's shell")
	}
	script, err := os.ReadFile("../../image/root/etc/profile.d/99-hermes-venv-path.sh")
	if err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[uint32]string{
		0:     "/opt/hermes/bin:/opt/hermes/.venv/bin:/usr/bin:/bin",
		10000: "/opt/hermes/bin:/opt/hermes/.venv/bin:/opt/data/.local/bin:/usr/bin:/bin",
	} {
		cmd := exec.Command("/bin/sh", "-c", string(script)+"\necho $PATH")
		cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		said, err := cmd.Output()
		if err != nil || strings.TrimSpace(string(said)) != want {
			t.Errorf("user %d: %s, %v", uid, said, err)
		}
	}
}
