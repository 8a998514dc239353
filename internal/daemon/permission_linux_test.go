package daemon

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// asNobody runs f, for root on a thread that has no right to files but everybody's and ends with f.
func asNobody(t *testing.T, f func(t *testing.T)) {
	t.Run("nobody", func(t *testing.T) {
		if os.Getuid() == 0 {
			runtime.LockOSThread() // and never unlocked
			if err := errors.Join(unix.Setfsgid(65534), unix.Setfsuid(65534)); err != nil {
				t.Fatal(err)
			}
		}
		f(t)
	})
}

func TestASocketThatMayNotBeOpened(t *testing.T) {
	root := shortDir(t)
	socket := root + "/var/run/docker.sock"
	listen(t, socket)
	listen(t, root+"/run/podman/podman.sock")
	for _, path := range []string{socket, root + "/run/podman/podman.sock"} {
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	asNobody(t, func(t *testing.T) {
		fails(t, Options{Lookup: lookup("DOCKER_HOST=unix://" + socket)}, NotAllowed, "permission denied", "usermod -aG docker", "rootless")
		failed := fails(t, Options{Lookup: lookup(), Root: root}, NotAllowed, "permission denied", "nor reach Podman")
		if len(failed.Others) != 1 || failed.Others[0].Reason != NotAllowed {
			t.Errorf("%+v", failed.Others)
		}
		fails(t, Options{Lookup: lookup(), Root: root, Kind: Podman}, NotAllowed, "a service of your own", "podman system service")
	})
}
