package image

import (
	"slices"
	"strings"
	"testing"
)

func TestB15TheUsersIDs(t *testing.T) {
	e := dockerd(t)
	r := e.run(opts("-e PUID=1000 -e PGID=1000"), "sh", "-c", "id -u; id -g; id -un; touch /opt/data/mine && stat -c %u:%g /opt/data/mine")
	if r.code != 0 || r.stdout != "1000\n1000\nhermes\n1000:1000\n" {
		t.Error(r)
	}
}

// A NAS has ids that an image has given to others.
func TestB16TheIDsOfANAS(t *testing.T) {
	r := dockerd(t).run(opts("-e PUID=99 -e PGID=100"), "sh", "-c", "id -u hermes; id -g hermes; touch /opt/data/skills/mine && echo ok")
	if r.code != 0 || r.stdout != "99\n100\nok\n" {
		t.Error(r)
	}
}

func TestB19TwoBootsWithOneRemap(t *testing.T) {
	e := dockerd(t)
	volume := e.volume("")
	for range 2 {
		r := e.run(opts("-e HERMES_UID=11001 -e HERMES_GID=11001 -v "+volume+":/opt/data"), "sh", "-c", "id -u; stat -c %u /opt/data/config.yaml")
		if r.code != 0 || r.stdout != "11001\n11001\n" || strings.Contains(r.stderr, "level=WARN") {
			t.Error(r)
		}
	}
}

func TestB20AForeignUserIsToldWhatToDo(t *testing.T) {
	r := dockerd(t).run(opts("--user 1000:1000"), "echo", "main is up")
	if r.code == 0 || strings.Contains(r.stdout, "main is up") || !strings.Contains(r.stderr, "HERMES_UID") || !strings.Contains(r.stderr, "PUID") {
		t.Error(r)
	}
}

func TestB21TheServiceUserNeedsNoRoot(t *testing.T) {
	r := dockerd(t).run(opts("--user 10000:10000"), "sh", "-c", "echo OK as $(id -u); stat -c %u /opt/data/config.yaml")
	if r.code != 0 || r.stdout != "OK as 10000\n10000\n" || strings.Contains(r.stderr, "cannot") {
		t.Error(r)
	}
}

// graphics is a volume to be mounted at /dev/dri, with a device of that group.
func graphics(e *engine, gid string) (options string) {
	return "-v " + e.volume("cd /opt/data; mknod card0 c 1 3; chgrp "+gid+" card0") + ":/dev/dri"
}

func groups(c *container) []string { return strings.Fields(c.do("", "id", "-G", service)) }

func TestB22TheGroupOfADeviceIsJoinedOnce(t *testing.T) {
	e := dockerd(t)
	c := e.idle(opts(graphics(e, "64000"))...)
	if got := groups(c); !slices.Contains(got, "64000") {
		t.Errorf("the groups are %v: %s", got, c.logs())
	}
	// Groups of a running process are what counts, not what a file says.
	if main := c.do("", "sh", "-c", "grep ^Groups: /proc/$(pgrep -x sleep)/status"); !slices.Contains(strings.Fields(main), "64000") {
		t.Errorf("the main program's are %s", main)
	}
	before, said := c.do("", "cat", "/etc/group"), len(c.logs())
	c.restart()
	if after := c.do("", "cat", "/etc/group"); after != before {
		t.Errorf("the second boot changed\n%sto\n%s", before, after)
	}
	if again := c.logs()[said:]; strings.Contains(again, "Added") || strings.Contains(again, "joined") {
		t.Errorf("the second boot says %s", again)
	}
}

func TestB23TheNamedGroupOfADevice(t *testing.T) {
	e := dockerd(t)
	c := e.idle(opts(graphics(e, "44"))...)
	if got := groups(c); !slices.Contains(got, "44") {
		t.Errorf("the groups are %v: %s", got, c.logs())
	}
	if lines := c.do("", "grep", "-c", "^[^:]*:[^:]*:44:", "/etc/group"); lines != "1" {
		t.Errorf("%s groups have the number: %s", lines, c.do("", "cat", "/etc/group"))
	}
}

func TestB24RootsGroupIsNotJoinedForADevice(t *testing.T) {
	e := dockerd(t)
	c := e.idle(opts(graphics(e, "0"))...)
	if got := groups(c); slices.Contains(got, "0") {
		t.Errorf("the groups are %v", got)
	}
}
