package boot

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hermes.example/hermes/test/machine"
)

// cli runs hermes in a machine as somebody does with "docker exec", who is root and goes through the shim.
func cli(r *machine.Running, args ...string) (string, int) {
	return r.Exec("", append([]string{"env", "HERMES_HOME=/opt/data", "hermes"}, args...)...)
}

// onVolume is a file of the data volume.
func onVolume(m *machine.Machine, path string) string {
	return m.Path(filepath.Join("/opt/data", path))
}

func content(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// statusOf waits until the line of a profile's gateway begins so.
func statusOf(t *testing.T, r *machine.Running, profile, want string) {
	t.Helper()
	r.Eventually("the gateway of "+profile+" is "+want, func() bool {
		out, _ := cli(r, "-p", profile, "gateway", "status")
		return strings.HasPrefix(out, want)
	})
}

func TestAProfilesLifeInAContainer(t *testing.T) {
	m := image(t)
	r := booted(t, m, machine.Boot{})
	if out, code := cli(r, "profile", "create", "coder"); code != 0 {
		t.Fatalf("%d: %s", code, out)
	}
	statusOf(t, r, "coder", "down")
	if out, code := cli(r, "-p", "coder", "gateway", "start"); code != 0 || !strings.HasPrefix(out, "started coder: up (pid ") {
		t.Fatalf("%d: %s\n%s", code, out, r.Output())
	}
	state := onVolume(m, "profiles/coder/gateway_state.json")
	if got := content(t, state); !strings.Contains(got, `"desired_state": "running"`) {
		t.Errorf("written down is %s", got)
	}
	if out, code := cli(r, "health"); code != 0 || out != "healthy\n" {
		t.Errorf("%d: %s", code, out)
	}
	if out, code := cli(r, "-p", "coder", "gateway", "logs", "--tail", "5"); code != 0 || out == "" {
		t.Errorf("it said %d %q", code, out)
	}
	err := filepath.Walk(onVolume(m, "profiles"), func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Sys().(*syscall.Stat_t).Uid != 10000 {
			t.Errorf("%s belongs to another", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}

	// The container goes away without a word, and comes back.
	r.Kill()
	r.Wait(bound)
	r = booted(t, m, machine.Boot{})
	statusOf(t, r, "coder", "up (pid ")
	log := content(t, onVolume(m, "logs/container-boot.log"))
	if !strings.Contains(log, "profile=coder prior_state=running action=started prior_exit=unclean") {
		t.Errorf("the log of boots is\n%s", log)
	}

	if out, code := cli(r, "-p", "coder", "gateway", "stop"); code != 0 || !strings.HasPrefix(out, "stopped coder: down") {
		t.Errorf("%d: %s", code, out)
	}
	if got := content(t, state); !strings.Contains(got, `"desired_state": "stopped"`) {
		t.Errorf("written down is %s", got)
	}
	for _, file := range []string{"profiles/coder/gateway.pid", "profiles/coder/processes.json"} {
		if err := os.WriteFile(onVolume(m, file), []byte("1"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r.Kill()
	r.Wait(bound)
	r = booted(t, m, machine.Boot{})
	statusOf(t, r, "coder", "down")
	for _, file := range []string{"profiles/coder/gateway.pid", "profiles/coder/processes.json"} {
		if _, err := os.Lstat(onVolume(m, file)); !os.IsNotExist(err) {
			t.Errorf("%s is there: %v", file, err)
		}
	}

	if out, code := cli(r, "profile", "delete", "--yes", "coder"); code != 0 {
		t.Errorf("%d: %s", code, out)
	}
	for _, verb := range []string{"start", "stop", "restart", "status"} {
		if out, code := cli(r, "-p", "coder", "gateway", verb); code != 1 || !strings.Contains(out, "no such gateway 'coder'") || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: %d: %s", verb, code, out)
		}
	}
}

func TestAProfileOfTheHost(t *testing.T) {
	m := image(t)
	r := booted(t, m, machine.Boot{})
	m.File("/opt/data/profiles/zoe/SOUL.md", "I am Zoe.\n", 0o644)
	m.Dir("/opt/data/profiles/half", 0o755)
	for _, path := range []string{"profiles", "profiles/zoe", "profiles/zoe/SOUL.md", "profiles/half"} {
		if err := os.Chown(onVolume(m, path), 10000, 10000); err != nil {
			t.Fatal(err)
		}
	}
	if out, code := cli(r, "-p", "zoe", "gateway", "start"); code != 0 {
		t.Errorf("%d: %s", code, out)
	}
	if out, code := cli(r, "-p", "half", "gateway", "start"); code != 1 || !strings.Contains(out, "no such gateway 'half'") {
		t.Errorf("without its mark: %d: %s", code, out)
	}
	statusOf(t, r, "zoe", "up (pid ")
	if err := os.RemoveAll(onVolume(m, "profiles/zoe")); err != nil {
		t.Fatal(err)
	}
	r.Eventually("it is forgotten", func() bool {
		out, _ := cli(r, "gateway", "ls")
		return !strings.Contains(out, "zoe")
	})
}

func TestOneGatewayForAllProfilesInAContainer(t *testing.T) {
	for _, c := range []struct{ config, env, want string }{
		{"gateway:\n  multiplex_profiles: true\n", "", "down"},
		{"gateway:\n  multiplex_profiles: true\n", "false", "up (pid "},
		{"{}\n", "true", "down"},
		{"}{ no YAML", "true", "down"},
		{"}{ no YAML", "", "up (pid "},
	} {
		m := image(t)
		m.File("/opt/data/config.yaml", c.config, 0o644)
		m.File("/opt/data/profiles/coder/SOUL.md", "", 0o644)
		m.File("/opt/data/profiles/coder/gateway_state.json", `{"desired_state":"running"}`, 0o644)
		env := []string{"API_SERVER_KEY=0123456789abcdef0123456789abcdef"}
		if c.env != "" {
			env = append(env, "GATEWAY_MULTIPLEX_PROFILES="+c.env)
		}
		r := booted(t, m, machine.Boot{Env: env})
		statusOf(t, r, "coder", c.want)
		action := "action=started"
		if c.want == "down" {
			action = "action=registered"
		}
		if log := content(t, onVolume(m, "logs/container-boot.log")); !strings.Contains(log, "profile=coder prior_state=running "+action) {
			t.Errorf("%+v: the log of boots is\n%s", c, log)
		}
		r.Kill()
		r.Wait(bound)
	}
}
