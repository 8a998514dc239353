package up

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// make run builds, and ends at a page that works, without a terminal too; Ctrl-C ends all of it.
func TestMakeRunEndsAtAPage(t *testing.T) {
	w := newWorld(t, nil)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	built := exec.Command("make", "-C", root, "build") // which may take long, and is not what is waited for below
	built.Env = append(os.Environ(), "MAKEFLAGS=")
	if out, err := built.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command("make", "-C", root, "run")
	// What it builds with is this user's; the switch for root is make's to set.
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "HERMES_ALLOW_ROOT_GATEWAY=", "HERMES_DASHBOARD_PORT=0", "HERMES_HOME="+w.home, "XDG_RUNTIME_DIR="+w.run, "API_SERVER_PORT="+w.gateway)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := w.begin(cmd)
	open := oneTime.FindString(p.there())
	if code, body := get(t, browser(), open); code != 200 || !strings.Contains(body, "<!doctype html>") {
		t.Errorf("%s: %d %s", open, code, body)
	}
	if said := p.err.String(); os.Getuid() == 0 && !strings.Contains(said, "run as root") {
		t.Errorf("root is not told: %s", said)
	}
	syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) // as a terminal does
	p.status()
	w.clean()
}
