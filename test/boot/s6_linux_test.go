package boot

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"hermes.example/hermes/internal/entry"
	"hermes.example/hermes/test/machine"
)

// onS6 is a machine of an image that brings s6 as its PID 1, which the service user owns.
func onS6(t *testing.T) (*machine.Machine, *machine.Running) {
	t.Helper()
	if _, err := exec.LookPath("s6-svscan"); err != nil {
		t.Skip("s6 is not installed")
	}
	m := image(t)
	m.Dir("/run/service", 0o755)
	for _, dir := range []string{"/run/service", "/opt/data"} {
		if err := os.Chown(m.Path(dir), 10000, 10000); err != nil {
			t.Fatal(err)
		}
	}
	// The key that hermes-init would have made.
	m.File("/opt/data/.env", "API_SERVER_KEY=0123456789abcdef0123456789abcdef\n", 0o644)
	r := m.Start(machine.Boot{User: hermes, Argv: []string{"/usr/bin/s6-svscan", "/run/service"}, Env: []string{"HERMES_HOME=/opt/data"}})
	r.Eventually("s6 is PID 1", func() bool {
		out, _ := r.Exec("", "cat", "/proc/1/comm")
		return out == "s6-svscan\n"
	})
	return m, r
}

// The same commands do the same where s6 is PID 1.
func TestAProfilesLifeOnS6(t *testing.T) {
	m, r := onS6(t)
	ask := func(args ...string) (string, int) {
		return r.Exec(hermes, append([]string{"env", "HERMES_HOME=/opt/data", "API_SERVER_KEY=0123456789abcdef0123456789abcdef", entry.Program}, args...)...)
	}
	if out, code := ask("-p", "coder", "gateway", "start"); code != 1 || !strings.Contains(out, "no such gateway 'coder'") {
		t.Errorf("before it is there: %d: %s", code, out)
	}
	if out, code := ask("profile", "create", "coder"); code != 0 || strings.Count(out, "\n") != 1 {
		t.Fatalf("%d: %s", code, out)
	}
	if _, err := os.Stat(m.Path("/run/service/gateway-coder/down")); err != nil {
		t.Errorf("its slot: %v", err)
	}
	if out, code := ask("-p", "coder", "gateway", "status"); code != 0 || !strings.HasPrefix(out, "down") {
		t.Errorf("%d: %s", code, out)
	}
	if out, code := ask("-p", "coder", "gateway", "start", "--wait", "60s"); code != 0 || !strings.HasPrefix(out, "started coder: up (pid ") {
		t.Fatalf("%d: %s\n%s", code, out, r.Output())
	}
	if out, code := ask("gateway", "ls"); code != 0 || !strings.Contains(out, "coder") {
		t.Errorf("%d: %s", code, out)
	}
	if out, code := ask("health"); code != 0 || out != "healthy\n" {
		t.Errorf("%d: %s", code, out)
	}
	state := m.Path("/opt/data/profiles/coder/gateway_state.json")
	if got := content(t, state); !strings.Contains(got, `"desired_state": "running"`) {
		t.Errorf("written down is %s", got)
	}
	// Root asks with the user's rights: what it writes is the user's.
	if out, code := r.Exec("", "env", "HERMES_HOME=/opt/data", entry.Program, "-p", "coder", "gateway", "restart"); code != 0 || !strings.HasPrefix(out, "restarted coder: ") {
		t.Errorf("root: %d: %s", code, out)
	}
	if info, err := os.Stat(state); err != nil || info.Sys().(*syscall.Stat_t).Uid != 10000 {
		t.Errorf("the state is another's: %v, %v", info, err)
	}
	if out, code := ask("-p", "coder", "gateway", "stop"); code != 0 || !strings.HasPrefix(out, "stopped coder: down") {
		t.Errorf("%d: %s", code, out)
	}
	if got := content(t, state); !strings.Contains(got, `"desired_state": "stopped"`) {
		t.Errorf("written down is %s", got)
	}
	if out, code := ask("-p", "coder", "gateway", "logs"); code != 0 || out == "" {
		t.Errorf("it said %d %q", code, out)
	}
	if out, code := ask("profile", "delete", "--yes", "coder"); code != 0 {
		t.Errorf("%d: %s", code, out)
	}
	if entries, err := os.ReadDir(m.Path("/run/service")); err != nil || len(entries) != 1 { // s6-svscan's own
		t.Errorf("slots are left: %v, %v", entries, err)
	}
}
