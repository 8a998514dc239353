package daemon

import (
	"errors"
	"strings"
	"testing"
)

func on(goos string, uid int, kind Kind, pairs ...string) *search {
	return &search{Options: Options{Lookup: lookup(pairs...), Kind: kind, Root: "/absent", Warn: func(string) {}}, goos: goos, uid: uid}
}

func TestUsualPlaces(t *testing.T) {
	for _, c := range []struct {
		name string
		s    *search
		want []string // the end of each address
	}{
		{"user", on("linux", 1000, "", "HOME=/h", "XDG_RUNTIME_DIR=/run/user/1000"), []string{
			"/var/run/docker.sock", "/run/user/1000/docker.sock", "/h/.docker/desktop/docker.sock", "/run/user/1000/podman/podman.sock", "/absent/run/podman/podman.sock"}},
		{"user of another directory", on("linux", 1000, Podman, "XDG_RUNTIME_DIR=/xdg"), []string{
			"/xdg/podman/podman.sock", "/run/user/1000/podman/podman.sock", "/run/podman/podman.sock"}},
		{"bare", on("linux", 1000, Docker), []string{"/var/run/docker.sock", "/run/user/1000/docker.sock"}},
		{"root", on("linux", 0, Podman, "XDG_RUNTIME_DIR=/run/user/0"), []string{"/absent/run/podman/podman.sock", "/run/user/0/podman/podman.sock"}},
		{"mac", on("darwin", 501, "", "HOME=/Users/ann", "TMPDIR=/t"), []string{
			"/var/run/docker.sock", "/Users/ann/.docker/run/docker.sock", "/.colima/default/docker.sock", "/.config/colima/default/docker.sock", "/.orbstack/run/docker.sock", "/.rd/docker.sock", "/Data/docker.raw.sock",
			"/podman/machine/podman.sock", "/podman-machine-default/podman.sock", "/qemu/podman.sock", "/t/podman/podman-machine-default-api.sock"}},
		{"windows", on("windows", -1, ""), []string{"npipe:////./pipe/docker_engine", "dockerDesktopLinuxEngine", "podman-machine-default"}},
		{"windows, Podman", on("windows", -1, Podman), []string{"podman-machine-default"}},
	} {
		places := c.s.usual()
		matches := len(places) == len(c.want)
		for i := range min(len(places), len(c.want)) {
			matches = matches && strings.HasSuffix(places[i].host, c.want[i]) && places[i].start != "" && places[i].must == c.s.Kind
		}
		if !matches {
			t.Errorf("%s: %+v", c.name, places)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		in, goos string
		secured  bool
		want     string // or a part of the error
	}{
		{"unix:///a/b.sock", "linux", false, "unix:///a/b.sock"},
		{"unix:/a/b.sock", "linux", false, "unix:///a/b.sock"},
		{"unix://a", "linux", false, "not absolute"},
		{"tcp://h:1", "linux", false, "tcp://h:1"},
		{"h:1", "linux", false, "tcp://h:1"},
		{"tcp://h", "linux", false, "tcp://h:2375"},
		{"tcp://h", "linux", true, "tcp://h:2376"},
		{"tcp://[::1]", "linux", true, "tcp://[::1]:2376"},
		{"tcp://h:1/base/", "linux", false, "tcp://h:1/base"},
		{"tcp://ann:secret@h:1", "linux", false, "tcp://h:1"},
		{"tcp://ann:secret@:1", "linux", false, "not an address"},
		{"tcp://%", "linux", false, "not an address"},
		{"npipe:////./pipe/x", "windows", false, "npipe:////./pipe/x"},
		{"npipe:////./pipe/x", "linux", false, "only Windows"},
		{"ssh://ann@h:22", "linux", false, "-p 22 ann@h"},
		{"ssh://h", "linux", false, `docker.sock h"`},
		{"fd://", "linux", false, `not to "fd"`},
		{"https://ann:secret@h", "linux", false, `not to "https"`},
	} {
		got, err := on(c.goos, 1000, "").parse(c.in, "DOCKER_HOST", c.secured)
		if err != nil {
			got = err.Error()
			if !strings.HasPrefix(got, "cannot use DOCKER_HOST: ") || !strings.Contains(got, c.want) {
				t.Errorf("%s: %s", c.in, got)
			}
		} else if got != c.want {
			t.Errorf("%s is %s", c.in, got)
		}
		if strings.Contains(got, "secret") {
			t.Errorf("%s: %s tells the password", c.in, got)
		}
	}
}

func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		s    *search
		want string
	}{
		{on("linux", 1000, Podman), "podman system service --time=0 unix:///run/user/1000/podman/podman.sock &"},
		{on("linux", 0, Podman), "podman system service --time=0 unix:///run/podman/podman.sock &"},
		{on("linux", 1000, Docker), "sudo service docker start"},
		{on("linux", 0, Docker), "service docker start"},
		{on("darwin", 501, Podman, "HOME=/h"), "podman machine start"},
	} {
		if got := c.s.usual()[0].start; got != c.want {
			t.Errorf("%s for %d on %s: %s", c.s.Kind, c.s.uid, c.s.goos, got)
		}
	}
	// A socket that somebody chose is started as the usual one that it is.
	s := on("linux", 1000, "", "DOCKER_HOST=unix:///absent/var/run/docker.sock")
	p, err := s.chosen()
	if err != nil || !strings.Contains(s.run(*p), "sudo service docker start") {
		t.Errorf("%+v, %v", p, err)
	}
	var failed *Error
	_, err = on("linux", 1000, "", "DOCKER_HOST=fd://").chosen()
	if !errors.As(err, &failed) || failed.Reason != Unusable {
		t.Errorf("got %v", err)
	}
}
