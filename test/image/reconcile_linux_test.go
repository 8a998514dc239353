package image

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const (
	gatewayArgs = `\S*hermes gateway run --replace`
	heartbeat   = `sleep infinity`
)

// prepared is a profile on a volume, with what is written down of its gateway, in the words of a shell.
func prepared(profile, state string) string {
	dir := "profiles/" + profile
	return fmt.Sprintf("mkdir -p /opt/data/%[1]s; cd /opt/data/%[1]s; echo mine >SOUL.md; echo '%s' >gateway_state.json; ", dir, state)
}

func TestB75AStoppedGatewayStaysDown(t *testing.T) {
	c := onVolume(t, prepared("coder", `{"desired_state":"stopped","gateway_state":"running"}`))
	c.restart()
	if got := c.status("gateway-coder"); got.Want != "down" || got.PID != 0 {
		t.Errorf("it is %+v", got)
	}
	if log := c.do("", "cat", bootLog); !regexp.MustCompile(`profile=coder prior_state=stopped action=registered`).MatchString(log) {
		t.Errorf("the log of boots is %s", log)
	}
}

func TestB76ARunningGatewayComesBack(t *testing.T) {
	c := onVolume(t, prepared("coder", `{"desired_state":"running","gateway_state":"startup_failed"}`))
	c.serves("gateway-coder")
	c.restart()
	c.serves("gateway-coder")
	if log := c.do("", "cat", bootLog); !strings.Contains(log, "profile=coder prior_state=running action=started") {
		t.Errorf("the log of boots is %s", log)
	}
}

func TestB77TracesOfTheLastContainerAreGone(t *testing.T) {
	c := dockerd(t).idle()
	c.do(service, "sh", "-c", "cd /opt/data && echo 1 >gateway.pid && echo '[1]' >processes.json")
	c.restart()
	if r := c.exec("", "sh", "-c", "ls /opt/data/gateway.pid /opt/data/processes.json 2>/dev/null"); r.stdout != "" {
		t.Errorf("there is %s", r.stdout)
	}
}

func TestB82ADashboardsContainerHasNoGateways(t *testing.T) {
	e := dockerd(t)
	volume := e.volume(prepared("coder", `{"desired_state":"running"}`))
	c := e.start(opts("-v "+volume+":/opt/data"), "dashboard", "--no-open")
	c.eventually("it serves", func() bool { return c.exec(service, "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9119").code == 0 })
	if !strings.Contains(c.logs(), "skipping the gateways") {
		t.Errorf("nothing is said: %s", tail(c.logs()))
	}
	if r := c.hermes("service", "ls"); r.code != 0 || strings.Contains(r.stdout, "gateway-") {
		t.Error(r)
	}
}

func TestB84OneGatewayForAllProfiles(t *testing.T) {
	e := dockerd(t)
	for _, c := range []struct{ config, env, want string }{
		{"gateway:\n  multiplex_profiles: true\n", "", "down"},
		{"gateway:\n  multiplex_profiles: true\n", "false", "up"},
		{"{}\n", "true", "down"},
		{"}{ no YAML", "true", "down"},
	} {
		volume := e.volume(prepared("coder", `{"desired_state":"running"}`) + fmt.Sprintf("printf '%%s' '%s' >/opt/data/config.yaml", c.config))
		options := opts("-v " + volume + ":/opt/data -e API_SERVER_KEY=0123456789abcdef0123456789abcdef")
		if c.env != "" {
			options = append(options, "-e", "GATEWAY_MULTIPLEX_PROFILES="+c.env)
		}
		r := e.run(options, "hermes", "service", "status", "--json", "gateway-coder")
		if r.code != 0 || !strings.Contains(r.stdout, fmt.Sprintf(`"want": %q`, c.want)) && !strings.Contains(r.stdout, fmt.Sprintf(`"want":%q`, c.want)) {
			t.Errorf("%+v: %s", c, r)
		}
	}
}

func TestB85GatewayRunIsRemembered(t *testing.T) {
	e := dockerd(t)
	volume := e.volume("")
	c := e.start(opts("-v "+volume+":/opt/data"), "gateway", "run")
	c.serves("gateway-default")
	if got := c.state("default"); !strings.Contains(got, wanted("running")) {
		t.Errorf("written down is %s", got)
	}
	for what, options := range map[string][]string{
		"--no-supervise":              {"gateway", "run", "--no-supervise"},
		"HERMES_GATEWAY_NO_SUPERVISE": {"gateway", "run"},
	} {
		var env []string
		if len(options) == 2 {
			env = opts("-e HERMES_GATEWAY_NO_SUPERVISE=1")
		}
		c := e.start(env, options...)
		c.eventually(what+": it serves", func() bool { return c.exec(service, "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8642").code == 0 })
		if got := c.status("gateway-default"); got.Want != "down" || strings.Contains(c.state("default"), "desired_state") {
			t.Errorf("%s: it is %+v, and written down is %s", what, got, c.state("default"))
		}
	}
}

// The container that most people run.
func TestB88GatewayRun(t *testing.T) {
	c := dockerd(t).start(nil, "gateway", "run")
	c.serves("gateway-default")
	c.eventually("there is one heartbeat", func() bool { return c.processes(heartbeat) == 1 })
	if got := c.status("gateway-default"); got.Want != "up" || !c.runs() {
		t.Errorf("it is %+v", got)
	}
	for _, words := range []string{"s6 supervision", "--no-supervise", "HERMES_GATEWAY_NO_SUPERVISE"} {
		if !strings.Contains(c.logs(), words) {
			t.Errorf("%q is not said: %s", words, tail(c.logs()))
		}
	}
	t.Run("B90 there is one gateway", func(t *testing.T) {
		if n := c.processes(gatewayArgs); n != 1 {
			t.Errorf("there are %d: %s", n, c.do("", "ps", "-ef"))
		}
		// A second one is told to go, or takes the first one's place; there are never two.
		c.hermes("gateway", "start")
		if n := c.processes(gatewayArgs); n != 1 {
			t.Errorf("there are %d: %s", n, c.do("", "ps", "-ef"))
		}
	})
	t.Run("B91 what it says", func(t *testing.T) {
		first, _, _ := strings.Cut(c.do("", "cat", "/opt/data/logs/gateways/default/current"), "\n")
		stamp, line, _ := strings.Cut(first, " ")
		if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z?$`).MatchString(stamp) || line == "" {
			t.Errorf("its log begins with %q", first)
		}
		if !strings.Contains("\n"+c.call("logs", c.name).stdout, "\n"+line+"\n") {
			t.Errorf("%q is not in the container's output: %s", line, tail(c.logs()))
		}
	})
}

func TestB92GatewayAndDashboard(t *testing.T) {
	c := dockerd(t).start(opts("-e HERMES_DASHBOARD=1"), "gateway", "run")
	for _, name := range []string{"gateway-default", "dashboard"} {
		c.eventually(name+" runs", func() bool { s := c.status(name); return s.Want == "up" && s.PID > 0 })
	}
}
