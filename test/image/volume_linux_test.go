package image

import (
	"strings"
	"testing"
)

// onVolume starts a container on a volume that a script filled as root.
func onVolume(t *testing.T, script string) *container {
	t.Helper()
	e := dockerd(t)
	return e.idle(opts("-v " + e.volume(script) + ":/opt/data")...)
}

// owners are the owners of files of the volume, by name, one after the other.
func (c *container) owners(files ...string) string {
	c.t.Helper()
	return strings.ReplaceAll(c.do("", append([]string{"sh", "-c", `cd /opt/data && stat -c %U:%G "$@"`, "sh"}, files...)...), "\n", " ")
}

func TestB25RootsFilesAreRepaired(t *testing.T) {
	c := dockerd(t).idle()
	files := []string{"auth.json", "state.db", "gateway.lock", "gateway_state.json"}
	c.do("", "sh", "-c", "cd /opt/data && touch auth.json state.db gateway.lock && echo '{}' >gateway_state.json && chown root:root "+strings.Join(files, " "))
	c.restart()
	if got := c.owners(files...); got != strings.TrimSpace(strings.Repeat("hermes:hermes ", 4)) {
		t.Errorf("the owners are %s", got)
	}
}

func TestB26TheUsersOwnFilesAreLeftAlone(t *testing.T) {
	c := dockerd(t).idle()
	c.do("", "sh", "-c", "echo secret >/opt/data/host_secret.json; mkdir /opt/data/mine; touch /opt/data/mine/file")
	c.restart()
	if got := c.owners("host_secret.json", "mine", "mine/file"); got != "root:root root:root root:root" {
		t.Errorf("the owners are %s", got)
	}
}

func TestB28RootsFilesOfProfilesAreRepaired(t *testing.T) {
	c := dockerd(t).idle()
	c.do("", "sh", "-c", "cd /opt/data && mkdir -p profiles/x/memories cron && touch profiles/x/memories/a cron/job.json")
	c.restart()
	if got := c.owners("profiles/x", "profiles/x/memories", "profiles/x/memories/a", "cron/job.json"); got != strings.TrimSpace(strings.Repeat("hermes:hermes ", 4)) {
		t.Errorf("the owners are %s", got)
	}
}

func TestB29ABlankVolumeHasLogs(t *testing.T) {
	if got := onVolume(t, "").owners("logs", "logs/gateways"); got != "hermes:hermes hermes:hermes" {
		t.Errorf("the owners are %s", got)
	}
}

func TestB31ABlankVolumeHasAConfig(t *testing.T) {
	c := onVolume(t, "")
	if got := c.do("", "stat", "-c", "%U:%G %a", "/opt/data/config.yaml"); got != "hermes:hermes 640" {
		t.Errorf("it is %s", got)
	}
	if got := c.do(service, "cat", "/opt/data/config.yaml"); got == "" {
		t.Error("there is nothing in it")
	}
}

func TestB32WhatIsThereKeepsItsContent(t *testing.T) {
	c := onVolume(t, `cd /opt/data; echo 'API_SERVER_KEY=0123456789abcdef0123456789abcdef' >.env; echo 'mine: 1 # a comment' >config.yaml; echo 'I am mine.' >SOUL.md`)
	got := c.do("", "sh", "-c", "cd /opt/data; cat .env config.yaml SOUL.md")
	if want := "API_SERVER_KEY=0123456789abcdef0123456789abcdef\nmine: 1 # a comment\nI am mine."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestB33ModesAreRepaired(t *testing.T) {
	c := onVolume(t, "cd /opt/data; echo A=1 >.env; echo 'mine: 1' >config.yaml; chmod 644 .env; chmod 666 config.yaml")
	if got := c.do("", "stat", "-c", "%a %U", "/opt/data/.env", "/opt/data/config.yaml"); got != "600 hermes\n640 hermes" {
		t.Errorf("they are %s", got)
	}
}

func TestB37TheGatewaysStateIsSeeded(t *testing.T) {
	c := dockerd(t).idle("-e", "HERMES_GATEWAY_BOOTSTRAP_STATE=running")
	if got := c.do("", "cat", "/opt/data/gateway_state.json"); !strings.Contains(got, `"running"`) {
		t.Errorf("it is %s", got)
	}
	c.serves("gateway-default")
}

func TestB38WithoutAWordNoStateIsSeeded(t *testing.T) {
	if r := dockerd(t).idle().exec("", "test", "-e", "/opt/data/gateway_state.json"); r.code != 1 {
		t.Errorf("there is one: %s", r)
	}
}

func TestB39AnotherWordSeedsNoState(t *testing.T) {
	if r := dockerd(t).idle("-e", "HERMES_GATEWAY_BOOTSTRAP_STATE=stopped").exec("", "test", "-e", "/opt/data/gateway_state.json"); r.code != 1 {
		t.Errorf("there is one: %s", r)
	}
}

func TestB42CredentialsAreSeededOnce(t *testing.T) {
	e := dockerd(t)
	volume := e.volume("")
	show := []string{"sh", "-c", `stat -c '%U %a' /opt/data/auth.json; cat /opt/data/auth.json`}
	for _, seed := range []string{`{"version":1,"providers":{}}`, `{"version":2,"providers":{}}`} {
		r := e.run(opts("-v "+volume+":/opt/data", "-e", "HERMES_AUTH_JSON_BOOTSTRAP="+seed), show...)
		if r.code != 0 || !strings.HasPrefix(r.stdout, "hermes 600\n") || !strings.Contains(r.stdout, `"version":1`) {
			t.Errorf("with the seed %s: %s", seed, r)
		}
	}
}

func TestB43CredentialsInARootOfTheirOwn(t *testing.T) {
	r := dockerd(t).run(opts("-e HERMES_AUTH_HOME=/opt/auth -e HERMES_HOME=/opt/data/profiles/office", "-e", `HERMES_AUTH_JSON_BOOTSTRAP={"providers":{}}`),
		"sh", "-c", `stat -c '%U %a' /opt/auth/profiles/office/auth.json; find /opt/data -name auth.json`)
	if r.code != 0 || r.stdout != "hermes 600\n" {
		t.Error(r)
	}
}

// The boots share a container: what none of them may do can be seen at its end. The last one shows that a good root is used.
func TestB44BadRootsOfCredentials(t *testing.T) {
	r := dockerd(t).run(opts("--entrypoint bash", "-e", `HERMES_AUTH_JSON_BOOTSTRAP={"providers":{}}`), "-c", `
		for root in "" "   " auth "~/a" " /opt/auth " $'/opt/auth\n' /; do HERMES_AUTH_HOME="$root" /init true || echo "$root failed"; done
		stat -c '%U:%G %a' /; find / /opt/data -xdev -name auth.json
		HERMES_AUTH_HOME=/opt/auth /init true; find / /opt/data -xdev -name auth.json`)
	if r.code != 0 || r.stdout != "root:root 755\n/opt/auth/auth.json\n" {
		t.Error(r)
	}
}

func TestB45WithoutTheRightToChown(t *testing.T) {
	e := dockerd(t)
	tmp := e.volume("cd /opt/data; chown root:root .; chmod 1777 .; mkdir -m 700 hermes-files")
	c := e.idle(opts("--cap-drop CHOWN -v " + tmp + ":/tmp")...)
	if got := c.do("", "stat", "-c", "%U %a", "/tmp/hermes-files"); got != "root 700" {
		t.Errorf("the scratch directory is %s", got)
	}
	if r := c.exec(service, "touch", "/tmp/hermes-files/x"); r.code == 0 {
		t.Error("the service user can write to it")
	}
}

func TestB46AReadOnlyVolumeStopsTheBoot(t *testing.T) {
	e := dockerd(t)
	r := e.run(opts("-v "+e.volume("")+":/opt/data:ro"), "--version")
	if r.code == 0 || r.stdout != "" || strings.Count(r.stderr, "hermes-init: ") != 1 {
		t.Error(r)
	}
}
