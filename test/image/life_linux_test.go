package image

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// stop is "docker stop": its status, and how long it took.
func (c *container) stop() (code string, took time.Duration) {
	c.t.Helper()
	began := time.Now()
	c.must("stop", c.name)
	return c.inspect("{{.State.ExitCode}}"), time.Since(began)
}

func TestAStopIsOverBeforeItsGrace(t *testing.T) {
	e := dockerd(t)
	c := e.start(opts("-e HERMES_DASHBOARD=1"), "gateway", "run")
	c.serves("gateway-default")
	c.serves("dashboard")
	code, took := c.stop()
	if code != "143" {
		t.Errorf("it ended with %s after %v: %s", code, took, tail(c.logs()))
	}
	if got := c.state("default"); got != "" {
		t.Fatalf("it still runs: %s", got)
	}
	// The container's end was nobody's wish for the gateway, which comes back with it.
	c.must("start", c.name)
	c.serves("gateway-default")
	t.Logf("a gateway and a dashboard took %v to stop", took)
}

// What does not want to end is killed before the engine would have to do it, however patient that one is.
func TestAnEndIsNotHeldUpByAnybody(t *testing.T) {
	c := dockerd(t).start(nil, "bash", "-c", `trap "" TERM; (trap "" TERM; echo deaf; while :; do sleep 0.1; done) & while :; do sleep 0.1; done`)
	c.eventually("it runs", func() bool { return strings.Contains(c.logs(), "deaf\n") })
	began := time.Now()
	c.must("stop", "--time", "40", c.name)
	if code, took := c.inspect("{{.State.ExitCode}}"), time.Since(began); code != "137" || took > 30*time.Second {
		t.Errorf("it ended with %s after %v", code, took)
	}
}

// What the main program and the services write is the container's log, each stream where it belongs; the boot's own words
// are on standard error.
func TestLogs(t *testing.T) {
	c := dockerd(t).start(nil, "sh", "-c", "echo to stdout; echo to stderr >&2; exec sleep infinity")
	c.ready()
	c.eventually("it has spoken", func() bool { return strings.Contains(c.logs(), "to stderr") })
	r := c.call("logs", c.name)
	if r.stdout != "to stdout\n" || !strings.Contains(r.stderr, "to stderr\n") || !strings.Contains(r.stderr, "msg=boot step=identity") {
		t.Errorf("the log is %s\nand %s", r.stdout, r.stderr)
	}
	for line := range strings.Lines(r.stderr) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") || strings.HasPrefix(line, "hermes-init:") {
			t.Errorf("something went wrong: %s", line)
		}
	}
}

func TestHealth(t *testing.T) {
	c := dockerd(t).start(opts("--health-interval 1s --health-start-period 0s --health-retries 1"), "gateway", "run")
	health := func() string { return c.inspect("{{.State.Health.Status}}") }
	c.eventually("it is healthy", func() bool { return health() == "healthy" })
	// A gateway that is to run and cannot is what a health check is for.
	c.do(service, "sh", "-c", "sed -i /API_SERVER_KEY/d /opt/data/.env")
	c.exec("", "pkill", "-KILL", "-f", "gateway run --replace")
	c.eventually("it is not", func() bool { return health() == "unhealthy" })
	if said := c.inspect("{{range .State.Health.Log}}{{.Output}}{{end}}"); !strings.Contains(said, "gateway-default") {
		t.Errorf("the health check does not say what is wrong: %s", said)
	}
}

// A container that has nothing to supervise is well, too.
func TestAnIdleContainerIsHealthy(t *testing.T) {
	c := dockerd(t).idle(opts("--health-interval 1s --health-start-period 0s --health-retries 1")...)
	c.eventually("it is healthy", func() bool { return c.inspect("{{.State.Health.Status}}") == "healthy" })
}

func TestTwoContainersOnOneVolume(t *testing.T) {
	e := dockerd(t)
	options := opts("-v " + e.volume("") + ":/opt/data")
	holder := e.start(options, "gateway", "run")
	holder.serves("gateway-default")
	for _, command := range []string{"gateway run", "dashboard"} {
		r := e.run(options, strings.Fields(command)...)
		if r.code != 78 || strings.Count(r.stderr, "hermes-init: ") != 1 || !strings.Contains(r.stderr, holder.inspect("{{.Config.Hostname}}")) {
			t.Errorf("%s: %s", command, r)
		}
	}
	if r := e.run(options, "config", "set", "k", "1"); r.code != 0 || strings.Count(r.stderr, "hermes-init: ")+strings.Count(r.stderr, "level=WARN") != 1 {
		t.Error(r)
	}
	if got := holder.status("gateway-default"); got.State != "ready" {
		t.Errorf("the holder's gateway is %+v", got)
	}
	// The holder dies without a word, and nobody has to clean up.
	holder.must("kill", holder.name)
	heir := e.start(options, "gateway", "run")
	heir.serves("gateway-default")
}

// One volume through a restart, another container, and another version of the image.
func TestAVolumeOutlivesContainersAndImages(t *testing.T) {
	e := dockerd(t)
	next := e.derive(`RUN mkdir -p /opt/hermes/skills/dance && printf -- '---\nname: dance\ndescription: Dances.\n---\n' >/opt/hermes/skills/dance/SKILL.md
RUN echo 'new: template' >/opt/hermes/seeds/config.yaml`)
	volume := e.volume("")
	options := opts("-v " + volume + ":/opt/data")

	c := e.idle(options...)
	says(t, c.hermes("profile", "create", "coder"))
	says(t, c.hermes("-p", "coder", "gateway", "start"))
	says(t, c.hermes("config", "set", "mine", "1"))
	c.do(service, "sh", "-c", "echo 'I am mine.' >/opt/data/SOUL.md; mkdir /opt/data/workspace/work; echo draft >/opt/data/workspace/work/file")
	// What the volume may not lose. Logs, locks and states of gateways change.
	const kept = `cd /opt/data && find . -type f ! -path './logs/*' ! -name 'gateway*' ! -name '.*lease*' ! -name '*.lock' ! -path './skills/*' -exec sha256sum {} + | sort -k2`
	before := c.do("", "sh", "-c", kept)
	check := func(what string, c *container) {
		t.Helper()
		c.serves("gateway-coder")
		if after := c.do("", "sh", "-c", kept); after != before {
			t.Errorf("%s: the volume was\n%s\nand is\n%s", what, before, after)
		}
	}
	c.restart()
	check("restarted", c)
	e.remove(c.name)
	c = e.idle(options...)
	check("made anew", c)
	e.remove(c.name)
	c = next.idle(options...)
	check("of the next version", c)
	if got := c.do("", "stat", "-c", "%U", "/opt/data/skills/dance/SKILL.md"); got != "hermes" {
		t.Errorf("the new skill is %s's", got)
	}
	e.remove(c.name)
	c = e.idle(options...)
	check("of the old version again", c)
}

// reference is a volume as the image before this one leaves it: files of root's among the user's, traces of a container that
// is gone, states as its gateways write them, a store of packages.
const reference = `
cd /opt/data
mkdir -p cron sessions/2026 logs/gateways/default hooks memories skills/mine skins plans workspace home pairing platforms/pairing backups lazy-packages/foo profiles/coder/sessions profiles/default profiles/Bad.Name
printf 'model:\n  default: some/model\nterminal:\n  backend: local\n  timeout: 180\ngateway:\n  multiplex_profiles: false\n' >config.yaml
printf 'OPENROUTER_API_KEY=sk-mine\nAPI_SERVER_KEY=\n' >.env; chmod 644 .env
echo 'I am old.' >SOUL.md; echo '{"version":1,"providers":{}}' >auth.json
echo data >state.db; echo data >state.db-wal; echo data >state.db-shm; touch gateway.lock auth.lock; echo coder >active_profile
echo '{"gateway_state":"draining","pid":77,"exit_reason":null,"platforms":{}}' >gateway_state.json
echo 77 >gateway.pid; echo '[{"pid":78}]' >processes.json
echo '{"id":1}' >sessions/2026/one.json; echo fact >memories/MEMORY.md; echo '[]' >cron/jobs.json
printf -- '---\nname: mine\n---\n' >skills/mine/SKILL.md; echo 'mine:abc' >skills/.bundled_manifest
echo '2026-01-01T00:00:00 old line' >logs/gateways/default/current; touch logs/gateways/default/lock
echo '2026-01-01T00:00:00+00:00 profile=default prior_state=running action=started' >logs/container-boot.log
echo 'x = 1' >lazy-packages/foo/__init__.py; echo docker >.install_method
echo 'I code.' >profiles/coder/SOUL.md; echo '{"desired_state":"running","gateway_state":"running"}' >profiles/coder/gateway_state.json
echo '[]' >profiles/Bad.Name/gateway_state.json; echo s >profiles/Bad.Name/SOUL.md
chown -R 10000:10000 .; chown root:root auth.json state.db cron/jobs.json profiles/coder/SOUL.md
mkdir theirs; echo mine >theirs/file`

func TestAVolumeOfTheReference(t *testing.T) {
	e := dockerd(t)
	options := opts("-v " + e.volume(reference) + ":/opt/data")
	const kept = `cd /opt/data && sha256sum config.yaml SOUL.md auth.json state.db* sessions/2026/one.json memories/MEMORY.md cron/jobs.json skills/mine/SKILL.md lazy-packages/foo/__init__.py active_profile profiles/coder/SOUL.md theirs/file`
	before := e.run(append(options, "--entrypoint", "sh"), "-c", kept).stdout
	c := e.start(options, "gateway", "run")
	c.serves("gateway-default") // it was draining, and so it is to run
	c.serves("gateway-coder")
	if after := c.do("", "sh", "-c", kept) + "\n"; after != before || before == "" {
		t.Errorf("the volume was\n%s\nand is\n%s", before, after)
	}
	if got := c.owners("auth.json", "state.db", "cron/jobs.json", "profiles/coder/SOUL.md", "theirs/file"); got != strings.Repeat("hermes:hermes ", 4)+"root:root" {
		t.Errorf("the owners are %s", got)
	}
	for file, want := range map[string]string{"processes.json": "1", ".install_method": "1", "profiles/coder/.env": "0"} {
		if got := fmt.Sprint(c.exec("", "test", "-e", "/opt/data/"+file).code); got != want {
			t.Errorf("whether %s is there: %s", file, got)
		}
	}
	if got := c.exec("", "cat", "/opt/data/gateway.pid").stdout; strings.TrimSpace(got) == "77" {
		t.Error("the process id of another machine is there")
	}
	if got := c.do("", "sh", "-c", "grep -c '^OPENROUTER_API_KEY=sk-mine$' /opt/data/.env; grep -cE '^API_SERVER_KEY=[0-9a-f]{64}$' /opt/data/.env; stat -c %a /opt/data/.env; tail -n 1 /opt/data/skills/.bundled_manifest"); !strings.HasPrefix(got, "1\n1\n600\n") {
		t.Errorf("the variables are %s", got)
	}
	if !strings.Contains(c.do("", "cat", "/opt/data/logs/gateways/default/current"), "old line") || !strings.Contains(c.do("", "cat", bootLog), "2026-01-01T00:00:00+00:00") {
		t.Error("logs were lost")
	}
	if strings.Contains(c.logs(), "level=ERROR") || !strings.Contains(c.logs(), "Bad.Name") {
		t.Errorf("the log is %s", tail(c.logs()))
	}
}
