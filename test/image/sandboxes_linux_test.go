package image

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/test/containers"
)

// findings are what hermes doctor says, a line each; a line that says how to mend something follows its finding.
func (c *container) findings() string {
	c.t.Helper()
	return c.exec(service, "hermes", "doctor").stdout
}

// Inside the image the container is the boundary.
func TestSandboxesAreLocalByDefault(t *testing.T) {
	c := dockerd(t).idle()
	if r := c.hermes("run", "--", "sh", "-c", "id -un; grep NoNewPrivs: /proc/self/status"); r.code != 0 || r.stdout != "hermes\nNoNewPrivs:\t1\n" {
		t.Error(r)
	}
	says(t, c.hermes("sandbox", "exec", "--task", "a", "--", "sh", "-c", "echo kept >file"))
	if r := c.hermes("sandbox", "exec", "--task", "a", "--", "cat", "file"); r.code != 0 || r.stdout != "kept\n" {
		t.Error(r)
	}
	if r := c.hermes("doctor"); r.code != 0 {
		t.Errorf("doctor calls the image bad: %s", r)
	}
	found := c.findings()
	for _, words := range []string{
		"ok    engine           local: the container is the boundary",
		"note  user namespaces  no native sandboxes:",
		"FIX: docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined …",
		"FIX: docker run -v /var/run/docker.sock:/var/run/docker.sock …",
	} {
		if !strings.Contains(found, words) {
			t.Errorf("%q is not said:\n%s", words, found)
		}
	}
	// Asked for by name it is an error, and never something weaker.
	if r := c.hermes("run", "--engine", "native", "--", "true"); r.code == 0 || !strings.Contains(r.stderr, "hermes doctor") {
		t.Error(r)
	}
}

// The options are those that doctor names.
func TestNativeSandboxesWhereTheOptionsAllowThem(t *testing.T) {
	c := dockerd(t).idle(opts("--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined -e TERMINAL_ENV=native")...)
	r := c.hermes("run", "--", "sh", "-c", "echo $$ $(ls -d /opt/data 2>&1)")
	if r.code != 0 || !strings.Contains(r.stdout, "No such file") {
		t.Error(r)
	}
	if r := c.hermes("doctor"); r.code != 0 || !strings.Contains(r.stdout, "ok    engine           native") || !strings.Contains(r.stdout, "ok    sandbox ") {
		t.Errorf("doctor says %s", r)
	}
}

// With Docker's socket a sandbox is a container beside ours: what is ours to see is not the daemon's.
func TestD17SiblingsThroughTheSocket(t *testing.T) {
	e := dockerd(t)
	box := containers.Busybox.In(t, containers.Docker(t))
	// A path that the host has too, with something else in it: what must not happen is that it appears in a sandbox.
	shared := t.TempDir()
	if err := os.WriteFile(filepath.Join(shared, "of-the-host"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c := e.idle(opts("-v /var/run/docker.sock:/var/run/docker.sock --tmpfs " + shared + ":mode=1777 -e HERMES_WRITE_SAFE_ROOT=/opt/data:" + shared + " -e TERMINAL_ENV=docker -e TERMINAL_DOCKER_IMAGE=" + box)...)
	says(t, c.exec(service, "docker", "version"))
	if r := c.hermes("run", "--", "sh", "-c", "hostname; cat /proc/1/comm"); r.code != 0 || strings.HasPrefix(r.stdout, c.inspect("{{.Config.Hostname}}")) {
		t.Errorf("it is not a sibling: %s", r)
	}
	says(t, c.hermes("run", "-c", "echo in a sibling"), "in a sibling")
	r := c.call("exec", "--workdir", shared, c.name, "hermes", "run", "--here", "--", "ls")
	if r.code == 0 || strings.Contains(r.stdout, "of-the-host") || !strings.Contains(r.stderr, "cannot mount "+shared) || !strings.Contains(r.stderr, "hermes sandbox cp") {
		t.Errorf("a directory of this container was mounted, or refused without a word: %s", r)
	}
	if found := c.findings(); !strings.Contains(found, "ok    engine           docker") || !strings.Contains(found, "ok    docker           version ") {
		t.Errorf("doctor says %s", found)
	}
}
