package image

import (
	"strings"
	"testing"
)

// derive makes an image of the image, with more lines of a Dockerfile; it goes with its test. Nothing of it is another
// test's, too: what one has cached goes when the other ends.
func (e *engine) derive(lines string) *engine {
	e.t.Helper()
	tag := label + ":" + strings.TrimPrefix(unique(), label+"-")
	e.t.Cleanup(func() { e.must("rmi", "--force", tag) })
	if r := e.pass("FROM "+e.image+"\nUSER root\n"+lines+"\n", "build", "--quiet", "--no-cache", "--tag", tag, "-"); r.code != 0 {
		e.t.Fatal(r)
	}
	return e.with(tag)
}

const hooked = `RUN mkdir -p /etc/cont-init.d && cd /etc/cont-init.d && \
 printf '#!/bin/sh\necho second as $(id -u) with $COLOUR >>/tmp/hooks\nexit 3\n' >20-second && \
 printf '#!/bin/sh\necho first on "$(ls /opt/data/config.yaml)" >>/tmp/hooks\n' >10-first && \
 printf '#!/bin/sh\necho third >>/tmp/hooks\n' >9-third && \
 printf '#!/bin/sh\necho untrusted >>/tmp/hooks\n' >30-untrusted && chmod 755 * && chown hermes 30-untrusted`

// What other people's images put into s6-overlay's places goes on working: hooks run as root, after our steps and in
// order; one that fails does not stop the others; one that somebody else can change is not run.
func TestHooksOfADerivedImage(t *testing.T) {
	e := dockerd(t).derive(hooked)
	c := e.idle("-e", "COLOUR=green")
	if got, want := c.do("", "cat", "/tmp/hooks"), "first on /opt/data/config.yaml\nsecond as 0 with green\nthird"; got != want {
		t.Errorf("they wrote %q, want %q", got, want)
	}
	for _, words := range []string{"20-second failed", "refusing to run /etc/cont-init.d/30-untrusted"} {
		if strings.Count(c.logs(), words) != 1 {
			t.Errorf("%q is not said once: %s", words, tail(c.logs()))
		}
	}
}

// longruns are services of s6-overlay; each ends in its own way.
func longruns(scripts map[string]string) string {
	var b strings.Builder
	for name, script := range scripts {
		dir := "/etc/s6-overlay/s6-rc.d/" + name
		b.WriteString("RUN mkdir -p " + dir + " && echo longrun >" + dir + "/type && printf '#!/bin/bash\\n" + script + "\\n' >" + dir + "/run && chmod 755 " + dir + "/run\n")
	}
	return b.String()
}

func TestServicesOfADerivedImage(t *testing.T) {
	e := dockerd(t).derive(longruns(map[string]string{
		"steady": `echo steady is $(id -un) with $COLOUR; exec sleep infinity`,
		"done":   `exit 0`, "bad": `exit 78`, "failing": `exit 1`, "killed": `kill -9 $$`,
	}) + "RUN mkdir -p /etc/s6-overlay/s6-rc.d/once && echo oneshot >/etc/s6-overlay/s6-rc.d/once/type")
	c := e.idle("-e", "COLOUR=green")
	c.eventually("the service runs", func() bool { return strings.Contains(c.logs(), "steady is hermes with green\n") })
	if got := c.status("steady"); got.Want != "up" || got.PID == 0 {
		t.Errorf("it is %+v", got)
	}
	if n := strings.Count(c.logs(), "not supported in /etc/s6-overlay/s6-rc.d, only longruns are: once"); n != 1 {
		t.Errorf("that one of them is no service is said %d times: %s", n, tail(c.logs()))
	}
	t.Run("B70 which ends park and which restart", func(t *testing.T) {
		for _, name := range []string{"done", "bad"} {
			c.eventually(name+" is parked", func() bool { return c.status(name).State == "parked" })
			if n := strings.Count(c.logs(), "name="+name+" state=starting"); n != 1 {
				t.Errorf("%s was started %d times", name, n)
			}
		}
		for _, name := range []string{"failing", "killed"} {
			c.eventually(name+" is started again", func() bool { return strings.Count(c.logs(), "name="+name+" state=starting") > 1 })
		}
	})
	if code, took := c.stop(); code != "143" {
		t.Errorf("it ended with %s after %v", code, took)
	}
}
