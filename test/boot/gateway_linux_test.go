package boot

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"hermes.example/hermes/test/machine"
)

// status is what the supervisor says of a service.
type status struct {
	Want, State string
	PID         int
}

// of asks the supervisor of a machine, as the service user.
func of(t *testing.T, r *machine.Running, service string) (s status) {
	t.Helper()
	out, code := r.Exec(hermes, "env", "HERMES_HOME=/opt/data", "hermes", "service", "status", "--json", service)
	if code != 0 {
		t.Logf("%s: %d %s", service, code, out)
		return s
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return s
}

// ready waits for the line that scripts wait for.
func ready(m *machine.Machine, r *machine.Running) {
	r.Eventually("it is ready", func() bool {
		log, _ := os.ReadFile(m.Path("/opt/data/logs/container-boot.log"))
		return strings.Contains(string(log), "profile=default") || r.Ended()
	})
}

// count is how many processes have a command line like this.
func count(r *machine.Running, pattern string) int {
	out, _ := r.Exec("", "ps", "-eo", "args=")
	return len(regexp.MustCompile("(?m)^"+pattern+"$").FindAllString(out, -1))
}

const (
	gatewayArgs = `/opt/hermes/\.venv/bin/hermes gateway run --replace`
	heartbeat   = `sleep infinity`
)

func TestGatewayRunIsSupervised(t *testing.T) {
	m := image(t)
	r := m.Start(machine.Boot{Argv: []string{"/init", "gateway", "run"}})
	ready(m, r)
	r.Eventually("the gateway is ready", func() bool { return of(t, r, "gateway-default").State == "ready" || r.Ended() })
	r.Eventually("there is one heartbeat", func() bool { return count(r, heartbeat) == 1 })
	for _, words := range []string{"s6 supervision", "--no-supervise", "HERMES_GATEWAY_NO_SUPERVISE"} {
		if !strings.Contains(r.Output(), words) {
			t.Errorf("%q is not said: %s", words, r.Output())
		}
	}
	if n := count(r, gatewayArgs); n != 1 {
		t.Errorf("there are %d gateways: %s", n, r.Must("", "ps", "-ef"))
	}
	if got := of(t, r, "gateway-default"); got.Want != "up" {
		t.Errorf("wanted is %+v", got)
	}
	if user := r.Must("", "stat", "-c", "%U", fmt.Sprintf("/proc/%d", of(t, r, "gateway-default").PID)); user != "hermes" {
		t.Errorf("the gateway runs as %s", user)
	}

	// What it says is in the container's output as it is, and in its log with the time.
	log := r.Must("", "cat", "/opt/data/logs/gateways/default/current")
	first, _, _ := strings.Cut(log, "\n")
	stamp, line, _ := strings.Cut(first, " ")
	if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z?$`).MatchString(stamp) || line == "" || !strings.Contains(r.Output(), line+"\n") {
		t.Errorf("the log begins with %q; the output is %s", first, r.Output())
	}

	// It was wanted by the command alone; from now on it is wanted by what is written down.
	if code, took := stops(r, syscall.SIGTERM); code != 143 || took > stopTime {
		t.Errorf("it ended with %d after %v: %s", code, took, r.Output())
	}
	state := readFile(t, m, "/opt/data/gateway_state.json")
	if !strings.Contains(state, `"desired_state":"running"`) && !strings.Contains(state, `"desired_state": "running"`) {
		t.Errorf("written down is %s", state)
	}
	again := booted(t, m, machine.Boot{})
	again.Eventually("the gateway is back", func() bool { return of(t, again, "gateway-default").State == "ready" || again.Ended() })
}

func TestGatewayRunInTheForeground(t *testing.T) {
	for what, b := range map[string]machine.Boot{
		"by the flag":     {Argv: []string{"/init", "gateway", "run", "--no-supervise"}},
		"by the variable": {Argv: []string{"/init", "gateway", "run"}, Env: []string{"HERMES_GATEWAY_NO_SUPERVISE=1"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := image(t)
			r := m.Start(b)
			ready(m, r)
			r.Eventually("it serves", func() bool {
				_, code := r.Exec(hermes, "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8642")
				return code == 0 || r.Ended()
			})
			if got := of(t, r, "gateway-default"); got.Want != "down" || got.PID != 0 {
				t.Errorf("the supervised one is %+v", got)
			}
			if n := count(r, heartbeat); n != 0 {
				t.Errorf("there are %d heartbeats", n)
			}
			if code, _ := stops(r, syscall.SIGTERM); code != 0 && code != 143 {
				t.Errorf("it ended with %d: %s", code, r.Output())
			}
			if _, err := os.Stat(m.Path("/opt/data/gateway_state.json")); err == nil && strings.Contains(readFile(t, m, "/opt/data/gateway_state.json"), `desired_state`) {
				t.Error("what the foreground did is wanted from now on")
			}
		})
	}
}

func TestADashboardContainerHasNoGateways(t *testing.T) {
	m := image(t)
	m.File("/opt/data/gateway_state.json", `{"desired_state":"running"}`, 0o644)
	m.File("/opt/data/profiles/coder/SOUL.md", "a soul\n", 0o644)
	r := m.Start(machine.Boot{Env: []string{"HERMES_DASHBOARD=1"}, Argv: []string{"/init", "dashboard", "--no-open"}})
	r.Eventually("the dashboard serves", func() bool {
		_, code := r.Exec(hermes, "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9119")
		return code == 0 || r.Ended()
	})
	if !strings.Contains(r.Output(), "skipping the gateways") {
		t.Errorf("nothing is said: %s", r.Output())
	}
	if out := r.Must(hermes, "env", "HERMES_HOME=/opt/data", "hermes", "service", "ls"); strings.Contains(out, "gateway-") {
		t.Errorf("services are %s", out)
	}
	if got := of(t, r, "dashboard"); got.Want != "down" {
		t.Errorf("there is a second dashboard: %+v", got)
	}
}

func TestGatewayAndDashboardTogether(t *testing.T) {
	m := image(t)
	r := m.Start(machine.Boot{Argv: []string{"/init", "gateway", "run"}, Env: []string{"HERMES_DASHBOARD=1"}})
	ready(m, r)
	for _, service := range []string{"gateway-default", "dashboard"} {
		r.Eventually(service+" runs", func() bool { s := of(t, r, service); return s.Want == "up" && s.PID > 0 || r.Ended() })
	}
	environ := r.Must("", "cat", fmt.Sprintf("/proc/%d/environ", of(t, r, "dashboard").PID))
	if !strings.Contains("\x00"+environ, "\x00HOME=/opt/data\x00") {
		t.Errorf("the dashboard's environment is %q", environ)
	}
}

func TestTheDashboardIsOffByDefault(t *testing.T) {
	r := booted(t, image(t), machine.Boot{Env: []string{"HERMES_DASHBOARD_HOST=127.0.0.1", "HERMES_DASHBOARD_PORT=9119", "HERMES_DASHBOARD=on"}})
	if got := of(t, r, "dashboard"); got.Want != "down" || got.State != "down" || got.PID != 0 {
		t.Errorf("it is %+v", got)
	}
}

// What root writes through the shim is the service user's, and it can read everything near it.
func TestRootsConfigIsTheServiceUsers(t *testing.T) {
	m := image(t)
	r := booted(t, m, machine.Boot{})
	r.Must("", "env", "HERMES_HOME=/opt/data", "hermes", "config", "set", "k", "1")
	if owner := r.Must("", "stat", "-c", "%U:%G", "/opt/data/config.yaml"); owner != "hermes:hermes" {
		t.Errorf("config.yaml is %s", owner)
	}
	if out := r.Must(hermes, "sh", "-c", "find /opt/data -maxdepth 2 -type f ! -readable; find /opt/data -maxdepth 2 -type d ! -executable"); out != "" {
		t.Errorf("it cannot read %s", out)
	}
	r.Must("", "env", "HERMES_DOCKER_EXEC_AS_ROOT=1", "HERMES_HOME=/opt/data", "hermes", "config", "set", "k", "2")
	if owner := r.Must("", "stat", "-c", "%U", "/opt/data/config.yaml"); owner != "root" {
		t.Errorf("written by root in so many words, config.yaml is %s", owner)
	}
}

func readFile(t *testing.T, m *machine.Machine, path string) string {
	t.Helper()
	text, err := os.ReadFile(m.Path(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
