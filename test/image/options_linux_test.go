package image

import (
	"strings"
	"testing"
)

// supervises runs the container that most people run, with options that take something away from it, to its end.
func (e *engine) supervises(options string) *container {
	e.t.Helper()
	c := e.start(opts(options), "gateway", "run")
	c.serves("gateway-default")
	if r := c.exec("", "hermes", "health"); r.code != 0 || r.stdout != "healthy\n" {
		e.t.Errorf("%s: %s", options, r)
	}
	if code, took := c.stop(); code != "143" { // 137: the engine had to kill it
		e.t.Errorf("%s: it ended with %s after %v: %s", options, code, took, tail(c.logs()))
	}
	return c
}

// warnings are the lines that say that something could not be done.
func (c *container) warnings() (lines []string) {
	c.t.Helper()
	for line := range strings.Lines(c.logs()) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") || strings.HasPrefix(line, "hermes-init:") {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestUnderTheEnginesInit(t *testing.T) {
	c := dockerd(t).supervises("--init")
	if w := c.warnings(); len(w) != 1 || !strings.Contains(w[0], "not PID 1") {
		t.Errorf("the warnings are %q", w)
	}
}

func TestAReadOnlyRoot(t *testing.T) {
	for what, options := range map[string]string{
		"with tmpfs":  "--read-only --tmpfs /run --tmpfs /tmp",
		"without one": "--read-only --tmpfs /tmp",
	} {
		t.Run(what, func(t *testing.T) {
			if w := dockerd(t).supervises(options).warnings(); len(w) > 1 {
				t.Errorf("the warnings are %q", w)
			}
		})
	}
}

// Without any right of root's the entrypoint cannot become another user: it says so and runs nothing as root. As the
// service user from the start it has all that it needs.
func TestWithoutAnyCapability(t *testing.T) {
	e := dockerd(t)
	if r := e.run(opts("--cap-drop ALL"), "sh", "-c", "echo main is up"); r.code == 0 || strings.Contains(r.stdout, "main is up") || !strings.Contains(r.stderr, "hermes-init: ") {
		t.Error(r)
	}
	e.supervises("--cap-drop ALL --cap-add SETUID --cap-add SETGID")
	e.supervises("--cap-drop ALL --user 10000:10000 --security-opt no-new-privileges")
}

// What Kubernetes calls restricted: no root, no capability, no new privileges, a root that cannot be written.
func TestTheRestrictedProfile(t *testing.T) {
	c := dockerd(t).supervises("--user 10000:10000 --cap-drop ALL --security-opt no-new-privileges --read-only --tmpfs /tmp:mode=1777")
	if w := c.warnings(); len(w) > 1 {
		t.Errorf("the warnings are %q", w)
	}
}

// A platform may choose any user that can write the volume, as OpenShift does with the group root.
func TestAnyUserThatCanWriteTheVolume(t *testing.T) {
	e := dockerd(t)
	volume := e.volume("cd /opt/data; touch mine; chown 0:0 .; chmod 775 .") // an empty one would get the image's owner again
	r := e.run(opts("--user 1000650000:0 --cap-drop ALL --read-only --tmpfs /tmp:mode=1777 -v "+volume+":/opt/data"),
		"sh", "-c", "echo up as $(id -u) in $HOME; hermes service ls")
	if r.code != 0 || !strings.HasPrefix(r.stdout, "up as 1000650000 in /opt/data\n") || !strings.Contains(r.stdout, "gateway-default") {
		t.Error(r)
	}
}
