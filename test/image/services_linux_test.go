package image

import (
	"fmt"
	"strings"
	"testing"
)

// state is what is written down of a profile's gateway.
func (c *container) state(profile string) string {
	c.t.Helper()
	file := "/opt/data/profiles/" + profile + "/gateway_state.json"
	if profile == "default" {
		file = "/opt/data/gateway_state.json"
	}
	return c.exec("", "cat", file).stdout
}

func wanted(state string) string { return fmt.Sprintf(`"desired_state": %q`, state) }

// One profile from its creation to its end. As the service user: whoever has no root does all of this.
func TestB55AProfilesLife(t *testing.T) {
	c := dockerd(t).idle()
	hermes := func(words ...string) ended { return c.exec(service, append([]string{"hermes"}, words...)...) }
	if r := hermes("profile", "create", "phase3test"); r.code != 0 {
		t.Fatal(r)
	}
	t.Run("B55 it can be asked for and is listed", func(t *testing.T) {
		says(t, hermes("service", "status", "gateway-phase3test"), "down")
		says(t, hermes("service", "ls"), "gateway-phase3test")
	})
	t.Run("B72 its gateway is down", func(t *testing.T) {
		if got := c.status("gateway-phase3test"); got.Want != "down" || got.PID != 0 {
			t.Errorf("it is %+v", got)
		}
	})
	t.Run("B58 nothing is registered twice or by a bad name", func(t *testing.T) {
		if r := hermes("profile", "create", "phase3test"); r.code == 0 || !strings.Contains(r.stderr, "already") {
			t.Error(r)
		}
		for _, name := range []string{"", "Coder", "foo/bar", "../e", "-x", "_x", "a b", "a.b", strings.Repeat("a", 252)} {
			if r := hermes("profile", "create", "--", name); r.code == 0 || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 {
				t.Errorf("%q: %s", name, r)
			}
		}
	})
	t.Run("B73 start and stop", func(t *testing.T) {
		c.do("", "sh", "-c", `echo '{"mine": 1}' >/opt/data/profiles/phase3test/gateway_state.json; chown hermes:hermes /opt/data/profiles/phase3test/gateway_state.json`)
		says(t, hermes("-p", "phase3test", "gateway", "start"), "started phase3test: up (pid ")
		if got := c.status("gateway-phase3test"); got.Want != "up" {
			t.Errorf("it is %+v", got)
		}
		c.stated(t, "running")
		says(t, hermes("-p", "phase3test", "gateway", "stop"), "stopped phase3test: down")
		if got := c.status("gateway-phase3test"); got.Want != "down" {
			t.Errorf("it is %+v", got)
		}
		c.stated(t, "stopped")
	})
	t.Run("B66 restart is a start", func(t *testing.T) {
		says(t, hermes("-p", "phase3test", "gateway", "restart"), "phase3test: up (pid ")
		c.stated(t, "running")
	})
	t.Run("B68 a stop is announced", func(t *testing.T) {
		// The gateway itself writes down that it was stopped by its owner: without the announcement it writes "running".
		says(t, hermes("-p", "phase3test", "gateway", "stop"))
		if got := c.state("phase3test"); !strings.Contains(got, `"gateway_state": "stopped"`) {
			t.Errorf("written down is %s", got)
		}
	})
	t.Run("B69 the list is of gateways", func(t *testing.T) {
		if r := hermes("gateway", "ls"); r.code != 0 || !strings.Contains(r.stdout, "phase3test") || strings.Contains(r.stdout, "dashboard") {
			t.Error(r)
		}
	})
	t.Run("B65 a denial is shown", func(t *testing.T) {
		if r := c.exec("65534:65534", "hermes", "-p", "phase3test", "gateway", "start"); r.code != 1 || !strings.Contains(r.stderr, "does not take orders from this user") {
			t.Error(r)
		}
	})
	t.Run("B56 it is gone", func(t *testing.T) {
		says(t, hermes("profile", "delete", "--yes", "phase3test"))
		if r := hermes("service", "ls"); strings.Contains(r.stdout, "phase3test") {
			t.Error(r)
		}
		if r := c.exec("", "test", "-e", "/opt/data/profiles/phase3test"); r.code == 0 {
			t.Error("its directory is there")
		}
	})
	t.Run("B57 one that is not there may go again", func(t *testing.T) {
		if r := hermes("profile", "delete", "--yes", "phase3test"); strings.Count(r.stderr, "\n") != 1 || r.code != 1 {
			t.Error(r)
		}
		if got := c.status("gateway-default"); got.State == "" {
			t.Errorf("the supervisor does not answer any more: %+v", got)
		}
	})
	t.Run("B64 one that is not there", func(t *testing.T) {
		for _, verb := range []string{"start", "stop", "restart"} {
			if r := hermes("-p", "phase3test", "gateway", verb); r.code != 1 || !strings.Contains(r.stderr, "no such gateway 'phase3test'") || !strings.Contains(r.stderr, "create") || strings.Count(r.stderr, "\n") != 1 {
				t.Errorf("%s: %s", verb, r)
			}
		}
	})
}

// stated checks what is written down, and that what others wrote there is kept.
func (c *container) stated(t *testing.T, want string) {
	t.Helper()
	if got := c.state("phase3test"); !strings.Contains(got, wanted(want)) || !strings.Contains(got, `"mine": 1`) {
		t.Errorf("written down is %s", got)
	}
}

func TestB74AProfileOfTheHost(t *testing.T) {
	c := dockerd(t).idle()
	c.do("", "sh", "-c", "cd /opt/data && mkdir -p profiles/zoe profiles/half && echo 'I am Zoe.' >profiles/zoe/SOUL.md && chown -R hermes:hermes profiles")
	says(t, c.hermes("-p", "zoe", "gateway", "start"), "started zoe: up (pid ")
	if r := c.hermes("-p", "half", "gateway", "start"); r.code != 1 || !strings.Contains(r.stderr, "no such gateway 'half'") {
		t.Error(r)
	}
	if r := c.hermes("gateway", "ls"); !strings.Contains(r.stdout, "zoe") || strings.Contains(r.stdout, "half") {
		t.Error(r)
	}
}
