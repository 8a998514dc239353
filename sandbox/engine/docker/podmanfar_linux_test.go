package docker_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/test/containers"
)

// podmanElsewhere is a Podman service beside the one that all tests share, with the same
// images, which does not see a directory of the test.
func podmanElsewhere(t *testing.T, hidden string) *client.Client {
	t.Helper()
	const settings = "/var/lib/hermes-test/podman/containers.conf" // see scripts/engines.sh
	if _, err := os.Stat(settings); err != nil || os.Getuid() != 0 {
		t.Skip("the tests' Podman is not set up here")
	}
	containers.Podman(t)
	// What it writes while it ends must not be in the place that is removed first.
	dir, err := os.MkdirTemp("/tmp", "podman")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	host := "unix://" + filepath.Join(dir, "s")
	service := exec.Command("unshare", "--mount", "sh", "-c", `mount -t tmpfs hidden "$0" && exec podman system service --time=0 "$1"`, hidden, host)
	service.Env = append(os.Environ(), "CONTAINERS_CONF="+settings, "TMPDIR="+dir, "XDG_RUNTIME_DIR=")
	service.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		service.Process.Signal(syscall.SIGTERM)
		service.Wait()
	})
	api := containers.Connect(t, host)
	for deadline := time.Now().Add(hang); ; <-time.After(50 * time.Millisecond) {
		_, err := api.Ping(t.Context(), client.PingOptions{})
		if err == nil {
			return api
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// TestD17PodmanMakesNoDirectories: Podman makes sources of binds that it does not see,
// so that none may be asked for.
func TestD17PodmanMakesNoDirectories(t *testing.T) {
	// The image's archive is not where Podman does not look.
	containers.Busybox.In(t, containers.Podman(t))
	f := newFarOf(t, podmanElsewhere(t, ownPlace(t)), "podman")
	f.says("echo kept >~/file; cat ~/file", "kept")
	for _, m := range f.container().Mounts {
		if m.Type != "volume" && m.Type != "tmpfs" {
			t.Errorf("%s is mounted at %s by %s", m.Source, m.Destination, m.Type)
		}
	}
	f.says("stat -c %u:%g:%a ~ /workspace && touch ~/a /workspace/b && id -u", "1000:2000:711\n1000:2000:711\n1000",
		func(s *sandbox.Spec) { s.User = "1000:2000" })
}
