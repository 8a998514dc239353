package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/test/containers"
)

// inDocker is a world whose sandboxes are containers of a small image.
func inDocker(t *testing.T) (*world, *client.Client) {
	api := containers.Docker(t)
	w := newWorld(t, nil)
	w.env = append(w.env, "TERMINAL_ENV=docker", "DOCKER_HOST="+api.DaemonHost(), "TERMINAL_DOCKER_IMAGE="+containers.Busybox.In(t, api))
	return w, api
}

func TestDockerSandbox(t *testing.T) {
	w, api := inDocker(t)
	if got := w.must("sandbox", "exec", "-c", "echo $PWD $HOME; cat /proc/1/comm; echo kept >/workspace/file"); got != "/root /root\nhermes-guest\n" {
		t.Errorf("got %q", got)
	}
	// Another process finds it, by the session that the first began.
	w.must("sandbox", "exec", "--session", "s", "-c", "cd /tmp; export COLOUR=green")
	if got := w.must("sandbox", "exec", "--session", "s", "-c", "echo $PWD $COLOUR"); got != "/tmp green\n" {
		t.Errorf("got %q", got)
	}
	all := decode[[]sandbox.Info](t, w.must("sandbox", "ls", "--json"))
	if len(all) != 1 || all[0].Engine != "docker" || all[0].State != sandbox.Running {
		t.Errorf("ls: %+v", all)
	}
	found, err := api.ContainerInspect(t.Context(), "hermes-"+all[0].Identity.Key(), client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	host := found.Container.HostConfig
	if host.Memory != 5120<<20 || host.NanoCPUs != 1e9 || host.PidsLimit == nil || *host.PidsLimit != 256 || host.ShmSize != 1<<30 || host.NetworkMode != "bridge" {
		t.Errorf("the container has %+v", host.Resources)
	}
	w.must("sandbox", "rm", "default")
	if got := w.must("sandbox", "exec", "-c", "cat /workspace/file"); got != "kept\n" {
		t.Errorf("after its removal the files are %q", got)
	}
	if content, err := os.ReadFile(filepath.Join(w.home, "sandboxes", "docker", "default", "workspace", "file")); err != nil || string(content) != "kept\n" {
		t.Errorf("on the host: %q, %v", content, err)
	}
}

// What the daemon keeps under a name is mounted as it is configured, outlives the
// sandbox, and is nobody's to remove.
func TestVolumesOfTheDaemon(t *testing.T) {
	w, api := inDocker(t)
	name := "hermes-test-" + sandbox.Identity{Home: w.home}.Key()
	t.Cleanup(func() {
		if _, err := api.VolumeRemove(context.Background(), name, client.VolumeRemoveOptions{}); err != nil {
			t.Error(err)
		}
	})
	w.env = append(w.env, `TERMINAL_DOCKER_VOLUMES=["`+name+`:/cache", "`+name+`:/seen:ro"]`)
	w.must("sandbox", "exec", "-c", "echo kept >/cache/file; ! touch /seen/x 2>/dev/null; cat /seen/file")
	w.must("sandbox", "rm", "--files", "default")
	if got := w.must("sandbox", "exec", "-c", "cat /cache/file"); got != "kept\n" {
		t.Errorf("the volume has %q", got)
	}
	w.must("sandbox", "rm", "--files", "default")
	// Elsewhere it means nothing, and that is said.
	if r := w.hermes("run", "--engine", "native", "--", "true"); r.code != 0 || strings.Count(r.stderr, "name of a volume of Docker's") != 2 {
		t.Errorf("native: %v", r)
	}
}

// ls is about all engines.
func TestLsOfAllEngines(t *testing.T) {
	w, _ := inDocker(t)
	w.must("sandbox", "exec", "--", "true")
	w.must("sandbox", "exec", "--engine", "native", "--task", "other", "--", "true")
	var seen []string
	for _, info := range decode[[]sandbox.Info](t, w.must("sandbox", "ls", "--json")) {
		seen = append(seen, info.Engine+" "+info.Identity.Task)
	}
	if got := strings.Join(seen, ", "); got != "docker default, native other" {
		t.Errorf("ls shows %s", got)
	}
	if one := decode[[]json.RawMessage](t, w.must("sandbox", "ls", "--engine", "native", "--json")); len(one) != 1 {
		t.Errorf("of one engine it shows %d", len(one))
	}
}

// A value that is forwarded is in the commands that it is for, fresh each time, and
// nowhere that others see: neither in the daemon's record nor in any arguments.
func TestForwardedValuesInDocker(t *testing.T) {
	w, api := inDocker(t)
	const secret = "s3cret-of-the-test"
	w.env = append(w.env, `TERMINAL_DOCKER_FORWARD_ENV=["TOKEN","FROM_FILE"]`, `TERMINAL_DOCKER_ENV={"PLAIN":1}`, "TOKEN="+secret)
	if err := os.WriteFile(filepath.Join(w.home, ".env"), []byte("FROM_FILE='in the file'\nTOKEN=other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(filepath.Join(w.home, ".env")) })
	look := []string{"sandbox", "exec", "--session", "s", "-c", "echo $TOKEN, $FROM_FILE, $PLAIN"}
	if got := w.must(look...); got != secret+", in the file, 1\n" {
		t.Errorf("got %q", got)
	}
	w.must("sandbox", "start", "--", "sleep", "300")
	arguments, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range arguments {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), secret) {
			t.Errorf("the value is in %s", file)
		}
	}
	id := decode[[]sandbox.Info](t, w.must("sandbox", "ls", "--json"))[0].Identity
	found, err := api.ContainerInspect(t.Context(), "hermes-"+id.Key(), client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	record, err := json.Marshal(found.Container)
	if err != nil || strings.Contains(string(record), secret) {
		t.Errorf("the daemon knows the value: %v", err)
	}
	w.env = append(w.env, "TOKEN=rotated")
	if got := w.must(look...); got != "rotated, in the file, 1\n" {
		t.Errorf("a rotated one: %q", got)
	}
	w.env = append(w.env, `TERMINAL_DOCKER_FORWARD_ENV=[]`)
	if got := w.must(look...); got != ", , 1\n" {
		t.Errorf("one that is no longer forwarded: %q", got)
	}
}

// Without persistence across processes each has a container of its own, which ends with
// it and is never adopted; the files of the task are the same.
func TestDockerSandboxOfOneProcess(t *testing.T) {
	w, api := inDocker(t)
	w.env = append(w.env, "TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES=false")
	first := w.command("sandbox", "exec", "-c", "hostname >/workspace/first; until [ -e /workspace/go ]; do sleep 0.02; done")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	own := ""
	eventually(t, "the first process has its sandbox", func() bool {
		own = w.must("sandbox", "exec", "-c", "cat /workspace/first 2>/dev/null; true")
		return own != ""
	})
	if other := w.must("sandbox", "exec", "-c", "hostname; : >/workspace/go"); other == own {
		t.Errorf("two processes were in %s", own)
	}
	if err := first.Wait(); err != nil {
		t.Errorf("the first: %v", err)
	}
	ours := containers.Labelled("hermes-home", sandbox.Identity{Home: w.home}.Labels()["hermes-home"])
	if left := containers.Snapshot(t, api, ours); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

func TestADaemonThatIsNotThere(t *testing.T) {
	w := newWorld(t, nil)
	w.env = append(w.env, "TERMINAL_ENV=docker", "DOCKER_HOST=unix://"+filepath.Join(w.dir, "no.sock"))
	r := w.hermes("sandbox", "exec", "--", "true")
	if r.code != 125 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "DOCKER_HOST") {
		t.Errorf("got %v", r)
	}
	w.env = append(w.env, "TERMINAL_ENV=native")
	if r := w.hermes("sandbox", "ls"); r.code != 0 {
		t.Errorf("ls without it: %v", r)
	}
}

// Who finds a guest that another process has met asks no daemon, and is not held up by
// one that is away.
func TestACommandAsksNoDaemon(t *testing.T) {
	w, api := inDocker(t)
	proxy := containers.NewProxy(t, api)
	direct := w.env
	w.env = append(direct[:len(direct):len(direct)], "DOCKER_HOST="+proxy.Host)
	defer func() { w.env = direct }() // for the world's end
	w.must("sandbox", "exec", "--", "true")
	asked := len(proxy.Requests())
	if asked == 0 {
		t.Fatal("it was not made by way of the proxy")
	}
	w.must("sandbox", "exec", "--", "true")
	if more := proxy.Requests()[asked:]; len(more) > 0 {
		t.Errorf("the second asks %q", more)
	}
	proxy.Down()
	if got := w.must("sandbox", "exec", "-c", "echo here"); got != "here\n" {
		t.Errorf("without the daemon: %q", got)
	}
	if r := w.hermes("sandbox", "exec", "--task", "other", "--", "true"); r.code != 125 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "cannot reach Docker") {
		t.Errorf("another without the daemon: %v", r)
	}
}
