package image

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// load takes the image over from Docker, for as long as the test is.
func (e *engine) load() {
	e.t.Helper()
	file := filepath.Join(e.t.TempDir(), "image.tar")
	(&engine{t: e.t, command: []string{"docker"}}).must("save", "--output", file, image)
	if err := os.Chmod(file, 0o644); err != nil {
		e.t.Fatal(err)
	}
	for dir := filepath.Dir(file); dir != os.TempDir() && len(dir) > 1; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { // another user reads it
			e.t.Fatal(err)
		}
	}
	e.must("load", "--input", file)
	e.t.Cleanup(func() { e.must("rmi", "--force", e.image) })
}

// accepts is what every engine has to do with the image: run, supervise, keep, refuse, stop.
func accepts(t *testing.T, e *engine) {
	t.Helper()
	if r := e.run(nil, "sh", "-c", "id -un; exit 42"); r.code != 42 || !strings.Contains(r.stdout, "hermes\n") {
		t.Errorf("a command: %s", r)
	}
	if r := e.run(opts("-e PUID=1000 -e PGID=1000"), "sh", "-c", "id -u hermes; touch /opt/data/skills/x"); r.code != 0 || !strings.Contains(r.stdout, "1000\n") {
		t.Errorf("other ids: %s", r)
	}
	if r := e.run(opts("--user 1000:1000"), "echo", "main is up"); r.code == 0 || strings.Contains(r.stdout, "main is up") {
		t.Errorf("a foreign user: %s", r)
	}
	volume := opts("-v " + e.volume("cd /opt/data; mkdir cron; touch cron/job; chown -R 0:0 cron") + ":/opt/data")
	c := e.start(volume, "gateway", "run")
	c.serves("gateway-default")
	if got := c.owners("cron/job", "config.yaml"); got != "hermes:hermes hermes:hermes" {
		t.Errorf("the owners are %s", got)
	}
	if r := c.hermes("health"); r.code != 0 || r.stdout != "healthy\n" {
		t.Errorf("its health: %s", r)
	}
	if r := c.hermes("run", "--", "id", "-un"); r.code != 0 || r.stdout != "hermes\n" {
		t.Errorf("a sandbox: %s", r)
	}
	if code, took := c.stop(); code != "143" {
		t.Errorf("it ended with %s after %v: %s", code, took, tail(c.logs()))
	}
	e.remove(c.name)
	e.start(volume, "sleep", "infinity").serves("gateway-default") // what was wanted is wanted still
}

// podman is the command line of Podman's service, as the other tests of containers use it.
func podman(t *testing.T) *engine {
	t.Helper()
	need(t)
	t.Parallel()
	host := os.Getenv("CONTAINER_HOST")
	if host == "" {
		host = "unix:///run/podman/podman.sock"
	}
	e := &engine{t: t, command: []string{"podman", "--remote", "--url", host}, image: "localhost/" + image}
	if out, err := exec.Command(e.command[0], append(e.command[1:], "version")...).CombinedOutput(); err != nil {
		t.Skipf("Podman does not answer: %v: %s", err, last(out))
	}
	return e
}

func TestPodman(t *testing.T) {
	e := podman(t)
	e.load()
	accepts(t, e)
}

// rootless are the files of a machine with one more user, who has a range of ids; they are mounted where only a test
// sees them.
const rootless = `
set -e
for f in passwd group subuid subgid; do mount --bind "$1/$f" /etc/$f; done
cd "$1/home"
root=$1; shift
exec setpriv --reuid 64321 --regid 64321 --clear-groups --inh-caps=-all env -i HOME="$root/home" XDG_RUNTIME_DIR="$root/run" PATH="$PATH" "$@"`

func TestRootlessPodman(t *testing.T) {
	need(t)
	t.Parallel()
	for _, program := range []string{"podman", "newuidmap", "runc", "setpriv"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no " + program)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can make a user for a test alone")
	}
	// Not the test's own directory: sockets have short names.
	root, err := os.MkdirTemp("", "rootless")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	for name, more := range map[string]string{
		"passwd": "rootless:x:64321:64321::" + root + "/home:/bin/sh\n", "group": "rootless:x:64321:\n",
		"subuid": "rootless:200000:65536\n", "subgid": "rootless:200000:65536\n",
	} {
		host, err := os.ReadFile("/etc/" + name)
		if err != nil {
			t.Skipf("this machine has no such file: %v", err)
		}
		if strings.HasPrefix(name, "sub") {
			host = nil
		}
		if err := os.WriteFile(filepath.Join(root, name), append(host, more...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"home", "run"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Join(root, dir), 64321, 64321); err != nil {
			t.Fatal(err)
		}
	}
	e := &engine{t: t, image: "localhost/" + image,
		command: []string{"unshare", "--mount", "sh", "-c", rootless, "sh", root,
			"podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs", "--events-backend", "none", "--storage-driver", "overlay"},
		// What a user without a session cannot have: groups, a network of its own, timers, more files than root allows.
		options: opts("--network none --no-healthcheck --ulimit nofile=1024:1024 --ulimit nproc=2000:2000"),
	}
	if r := e.call("info"); r.code != 0 {
		t.Skipf("Podman cannot run without root here: %s", r)
	}
	t.Cleanup(func() { e.call("system", "migrate") }) // ends the process that keeps the user's namespace
	e.load()
	accepts(t, e)
}
