package daemon

import (
	"path/filepath"
	"runtime"
	"testing"
)

func TestExpect(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the places are Linux's")
	}
	root := shortDir(t)
	expect := func(what string, o Options, kind Kind, host string, ok bool) {
		t.Helper()
		o.Root = root
		gotKind, gotHost, gotOK := Expect(o)
		if gotOK != ok || ok && (gotKind != kind || gotHost != host) {
			t.Errorf("%s: %q, %q, %t, want %q, %q, %t", what, gotKind, gotHost, gotOK, kind, host, ok)
		}
	}
	at := func(socket string) string { return "unix://" + filepath.Join(root, socket) }
	expect("nothing there", Options{Lookup: lookup()}, "", "", false)

	write(t, filepath.Join(root, "/run/podman/podman.sock"), "", 0o600)
	expect("only Podman", Options{Lookup: lookup()}, Podman, at("/run/podman/podman.sock"), true)
	write(t, filepath.Join(root, "/var/run/docker.sock"), "", 0o600)
	expect("both", Options{Lookup: lookup()}, Docker, at("/var/run/docker.sock"), true)
	expect("both, and Podman is wanted", Options{Lookup: lookup(), Kind: Podman}, Podman, at("/run/podman/podman.sock"), true)
	expect("both, and Podman is named", Options{Lookup: lookup(binary + "=podman")}, Podman, at("/run/podman/podman.sock"), true)

	expect("chosen", Options{Lookup: lookup("DOCKER_HOST=unix:///elsewhere.sock")}, Docker, "unix:///elsewhere.sock", true)
	expect("chosen, and Podman is wanted", Options{Lookup: lookup("DOCKER_HOST=unix:///elsewhere.sock"), Kind: Podman}, Podman, "unix:///elsewhere.sock", true)
	expect("on another machine", Options{Lookup: lookup("DOCKER_HOST=tcp://198.51.100.1:2375")}, "", "", false)
	expect("chosen and wrong", Options{Lookup: lookup("DOCKER_HOST=gopher://x")}, "", "", false)
}
