package docker

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/test/containers"
)

// A container whose removal the daemon did not finish is dead: it is made anew for whoever
// needs it, and swept where nobody does.
func TestD11DeadIsMadeAnew(t *testing.T) {
	t.Parallel()
	private := containers.PrivateDocker(t)
	a := newArenaAt(t, private.Client(), private.Host, false)
	before := make(map[string]string)
	for _, task := range []string{"needed", "left"} {
		a.must(a.ensure(task), "echo kept > file")
		before[task] = a.one(task)
	}
	a.manager.Close()
	private.Stop()
	for _, id := range before {
		file := filepath.Join(dataRoot(t, private), "containers", id, "config.v2.json")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Replace(text, []byte(`"RemovalInProgress":false`), []byte(`"RemovalInProgress":true`), 1)
		if err := os.WriteFile(file, changed, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	private.Start()
	if got := a.inspect(before["needed"]).State.Status; got != container.StateDead {
		t.Fatalf("the daemon calls it %s", got)
	}
	if out := a.must(a.ensureBy(a.another(), "needed", a.spec()), "cat file").out; out != "kept" || a.one("needed") == before["needed"] {
		t.Errorf("it says %q", out)
	}
	if swept, err := a.engine.Sweep(a.context(), a.home); err != nil || swept != 2 { // with its run directory
		t.Errorf("swept %d, %v", swept, err)
	}
	a.nothingOf("left")
}

// Whoever fills the volume of the guest does it through a container that is never started.
// One that was killed at it leaves that to the next sweep of those who see its locks.
func TestD06TheVolumesFillerIsSwept(t *testing.T) {
	t.Parallel()
	a, p := spoilt(t, false)
	run := "XDG_RUNTIME_DIR=" + t.TempDir() // where nobody has seen the volume yet
	fillers := func() int {
		n := 0
		for _, name := range containers.Snapshot(t, a.api, containers.Labelled("hermes-chore", "")) {
			if strings.HasPrefix(name, "container ") {
				n++
			}
		}
		return n
	}
	others := fillers()
	p.Inject(containers.Fault{On: http.MethodGet + ` /containers/.*/archive`, Hang: true})
	c := send(t, a.errand("t", "true"), nil, run)
	if !eventually(func() bool { return asked(p, http.MethodGet+" /containers/") > 2 && fillers() > others }) {
		t.Fatalf("it does not fill: %q", p.Requests())
	}
	e := a.errand("t", "")
	e.Sweep = true
	sweeps := func() string {
		s := send(t, e, nil, run)
		said, _ := io.ReadAll(s.out)
		if err := s.Wait(); err != nil {
			t.Error(err)
		}
		return string(said)
	}
	if got := sweeps(); got != "0\n" {
		t.Errorf("while it fills, swept were %q", got)
	}
	c.kill()
	p.Heal()
	if got := sweeps(); got != "1\n" {
		t.Errorf("swept were %q", got)
	}
}

// A source that is not there is one clear error.
func TestAMountWhoseSourceIsMissing(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	spec := a.spec()
	spec.Mounts = []sandbox.Mount{{Source: filepath.Join(t.TempDir(), "missing"), Target: "/mnt"}}
	if _, err := a.manager.Ensure(a.context(), a.id("t"), spec); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), spec.Mounts[0].Source) {
		t.Errorf("the error is %v", err)
	}
	a.nothingOf("t")
	if _, err := os.Stat(spec.Mounts[0].Source); err == nil {
		t.Error("it was made")
	}
}
