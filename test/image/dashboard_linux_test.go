package image

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

func TestB93TheDashboardIsOffByDefault(t *testing.T) {
	c := dockerd(t).idle(opts("-e HERMES_DASHBOARD_HOST=0.0.0.0 -e HERMES_DASHBOARD_PORT=9119 -e HERMES_DASHBOARD=on")...)
	if got := c.status("dashboard"); got.Want != "down" || got.State != "down" || got.PID != 0 {
		t.Errorf("it is %+v", got)
	}
	if n := c.processes(`.*hermes dashboard.*`); n != 0 {
		t.Errorf("there are %d", n)
	}
}

// The dashboard behind a login, on all addresses of the container.
func TestB94TheDashboardComesBackAfterAKill(t *testing.T) {
	c := dockerd(t).idle(opts("-e HERMES_DASHBOARD=1 -e HERMES_DASHBOARD_HOST=0.0.0.0 -e HERMES_DASHBOARD_INSECURE=1 " +
		"-e HERMES_DASHBOARD_BASIC_AUTH_USERNAME=me -e HERMES_DASHBOARD_BASIC_AUTH_PASSWORD=password")...)
	c.serves("dashboard")
	first := c.status("dashboard")
	t.Run("B99 it is never called insecure", func(t *testing.T) {
		words := c.do("", "sh", "-c", fmt.Sprintf(`tr '\0' ' ' </proc/%d/cmdline`, first.PID))
		if !strings.HasSuffix(words, "dashboard --host 0.0.0.0 --port 9119 --no-open ") {
			t.Errorf("its arguments are %s", words)
		}
	})
	t.Run("B100 its home", func(t *testing.T) {
		if env := c.environ(first.PID); !strings.Contains(env, "\x00HOME=/opt/data\x00") {
			t.Errorf("its environment is %q", env)
		}
	})
	c.do("", "kill", "-9", strconv.Itoa(first.PID))
	c.eventually("it is back", func() bool { s := c.status("dashboard"); return s.State == "ready" && s.PID != first.PID })
}

// Through the port that a container publishes, from the host.
func TestB96BeyondLoopbackWithOAuthInAContainer(t *testing.T) {
	c := dockerd(t).idle(opts("-p 127.0.0.1::9119 -e HERMES_DASHBOARD=1 -e HERMES_DASHBOARD_HOST=0.0.0.0 -e HERMES_DASHBOARD_OAUTH_CLIENT_ID=client")...)
	c.serves("dashboard")
	base := "http://" + c.must("port", c.name, "9119/tcp")
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/api/auth/providers": {200, `"name":"nous"`},
		"/api/status":         {200, `"auth_required":true`},
		"/api/sessions":       {401, "log in"},
	} {
		answer, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != want.status || !strings.Contains(string(body), want.body) {
			t.Errorf("%s: %d %s", path, answer.StatusCode, body)
		}
	}
}

// Without a login the dashboard does not open itself to the network: one line says why, and it is not tried again.
func TestADashboardWithoutALoginIsParked(t *testing.T) {
	c := dockerd(t).idle(opts("-e HERMES_DASHBOARD=1 -e HERMES_DASHBOARD_HOST=0.0.0.0")...)
	c.eventually("it is parked", func() bool { return c.status("dashboard").State == "parked" })
	if n := strings.Count(c.logs(), "cannot listen on 0.0.0.0 without a login"); n != 1 {
		t.Errorf("that is said %d times: %s", n, tail(c.logs()))
	}
}
