package boot

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"hermes.example/hermes/test/machine"
)

// With a login the dashboard serves every address, is never called insecure whatever a variable says, and comes back.
func TestTheDashboardComesBackAfterAKill(t *testing.T) {
	r := booted(t, image(t), machine.Boot{Env: []string{"HERMES_DASHBOARD=1", "HERMES_DASHBOARD_HOST=0.0.0.0", "HERMES_DASHBOARD_INSECURE=1",
		"HERMES_DASHBOARD_BASIC_AUTH_USERNAME=me", "HERMES_DASHBOARD_BASIC_AUTH_PASSWORD=pw"}})
	serves := func() bool {
		_, code := r.Exec(hermes, "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9119")
		return code == 0 || r.Ended()
	}
	r.Eventually("it serves", serves)
	first := of(t, r, "dashboard")
	words := strings.Split(strings.TrimRight(r.Must("", "cat", "/proc/"+strconv.Itoa(first.PID)+"/cmdline"), "\x00"), "\x00")
	if got := strings.Join(words[1:], " "); got != "dashboard --host 0.0.0.0 --port 9119 --no-open" {
		t.Errorf("its arguments are %q", got)
	}
	r.Must("", "kill", "-9", strconv.Itoa(first.PID))
	r.Eventually("it is back", func() bool { s := of(t, r, "dashboard"); return s.PID > 0 && s.PID != first.PID || r.Ended() })
	r.Eventually("it serves again", serves)
}

// Without a login it does not, says why once, and is not tried again.
func TestADashboardWithoutALoginIsParked(t *testing.T) {
	r := booted(t, image(t), machine.Boot{Env: []string{"HERMES_DASHBOARD=1", "HERMES_DASHBOARD_HOST=0.0.0.0"}})
	r.Eventually("it is parked", func() bool { return of(t, r, "dashboard").State == "parked" || r.Ended() })
	if n := strings.Count(r.Output(), "cannot listen on 0.0.0.0 without a login"); n != 1 {
		t.Errorf("that is said %d times: %s", n, r.Output())
	}
	if strings.Contains(r.Output(), "name=dashboard state=ready") {
		t.Errorf("it was taken for ready before it listened: %s", r.Output())
	}
}

// A password comes as a file, as secrets of containers do. The log has the address to open, or the variable to mend.
func TestTheDashboardsPasswordIsASecret(t *testing.T) {
	for name, c := range map[string]struct {
		mode  os.FileMode
		state string
		says  string
	}{
		"readable":     {0o644, "ready", "open=http://localhost:9119/ login=admin"},
		"not readable": {0o600, "parked", `cannot use HERMES_DASHBOARD_BASIC_AUTH_PASSWORD_FILE="/opt/secrets/password": user 10000 may not read it`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := image(t)
			m.File("/opt/secrets/password", "correct horse\n", c.mode)
			r := booted(t, m, machine.Boot{Env: []string{"HERMES_DASHBOARD=1", "HERMES_DASHBOARD_HOST=0.0.0.0",
				"HERMES_DASHBOARD_BASIC_AUTH_USERNAME=admin", "HERMES_DASHBOARD_BASIC_AUTH_PASSWORD_FILE=/opt/secrets/password"}})
			r.Eventually("it is "+c.state, func() bool { return of(t, r, "dashboard").State == c.state || r.Ended() })
			r.Eventually("it says so", func() bool { return strings.Contains(r.Output(), c.says) || r.Ended() })
			if out := r.Output(); !strings.Contains(out, c.says) || strings.Contains(out, "correct horse") {
				t.Errorf("it says %s", out)
			}
		})
	}
}
