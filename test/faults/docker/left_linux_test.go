package docker

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/test/containers"
)

// halfMade is what a maker leaves who is killed before it has started its container.
func (a *arena) halfMade(task string) string {
	a.Helper()
	p := containers.NewProxy(a, a.api)
	p.Inject(containers.Fault{On: `POST /containers/.*/start`, Hang: true})
	e := a.errand(task, "true")
	e.Host = p.Host
	c := send(a, e, nil)
	if !eventually(func() bool {
		return asked(p, "POST /containers/") > 1 && strings.HasSuffix(p.Requests()[len(p.Requests())-1], "/start")
	}) {
		a.Fatalf("the maker did not come so far: %q", p.Requests())
	}
	c.kill()
	return a.one(task)
}

// What was half made is swept when its maker is gone, and nothing else is touched: what
// lives, what another home or profile has, what is at work, what others made.
func TestD06HalfMadeContainersAreSwept(t *testing.T) {
	t.Parallel()
	a, b := newArena(t), newArena(t)
	run := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "hermes")
	a.halfMade("half")
	atWork := a.halfMade("at work")
	elsewhere := b.halfMade("half")
	a.must(a.ensure("running"), "true")
	a.must(a.ensure("stopped"), "true")
	r, err := a.api.ContainerStop(a.context(), a.one("stopped"), client.ContainerStopOptions{})
	do(a, r, err)
	theirs := filepath.Join(a.home, "sandboxes", "docker", "theirs")
	if err := os.MkdirAll(theirs, 0o700); err != nil {
		t.Fatal(err)
	}
	foreign := a.foreign("half", "default", []string{theirs + ":" + sandbox.Home})
	gone := a.id("gone")
	a.must(a.ensure("gone"), "true")
	rm, err := a.api.ContainerRemove(a.context(), a.one("gone"), client.ContainerRemoveOptions{Force: true})
	do(a, rm, err)
	lock, err := rundir.Acquire(a.context(), filepath.Join(run, a.id("at work").Key()+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	swept, err := a.engine.Sweep(a.context(), a.home)
	if err != nil || swept < 3 { // a container and two run directories; perhaps what has no home, of other tests
		t.Errorf("swept %d, %v", swept, err)
	}
	a.nothingOf("half")
	for _, id := range []sandbox.Identity{a.id("half"), gone} {
		if _, err := os.Stat(filepath.Join(run, id.Key()+"-docker")); err == nil {
			t.Errorf("%s still has its run directory", id.Task)
		}
	}
	for _, id := range []string{atWork, elsewhere, foreign, a.one("running"), a.one("stopped")} {
		a.inspect(id)
	}
	a.must(a.ensure("running"), "true")
	lock.Release(false)
	if swept, err := a.engine.Sweep(a.context(), a.home); err != nil || swept < 2 {
		t.Errorf("when nobody is at work any more it swept %d, %v", swept, err)
	}
	a.nothingOf("at work")
	if err := os.Remove(theirs); err != nil {
		t.Error(err)
	}
	// Somebody who needs one that was left goes on where its maker ended.
	b.must(b.ensure("half"), "true")
	if b.one("half") != elsewhere {
		t.Error("it was made anew")
	}
}

// When everything is to go, files go that no container has any more, with the programs
// that no container uses; what the Hermes agent itself uses stays.
func TestD31PurgeRemovesWhatNoContainerHas(t *testing.T) {
	t.Parallel()
	private := containers.PrivateDocker(t)
	a := newArenaAt(t, private.Client(), private.Host, false)
	dirs := filepath.Join(a.home, "sandboxes", "docker")
	for _, task := range []string{"removed", "lost", "living"} {
		a.must(a.ensure(task), "echo kept > file; mkdir -p a/b; echo x > a/b/c")
	}
	if err := a.manager.Remove(a.context(), a.id("removed"), false); err != nil {
		t.Fatal(err)
	}
	r, err := a.api.ContainerRemove(a.context(), a.one("lost"), client.ContainerRemoveOptions{Force: true})
	do(a, r, err)
	theirs := filepath.Join(dirs, "theirs")
	if err := os.MkdirAll(filepath.Join(theirs, "home"), 0o700); err != nil {
		t.Fatal(err)
	}
	foreign := a.foreign("theirs", "default", []string{filepath.Join(theirs, "home") + ":" + sandbox.Home})
	if kept, err := a.manager.Keeps(a.context(), a.id("removed")); err != nil || !kept {
		t.Errorf("removed without its files, it keeps them: %v, %v", kept, err)
	}
	if _, err := a.engine.Sweep(a.context(), a.home); err != nil {
		t.Error(err)
	}
	purged, err := a.engine.(sandbox.Keeper).Purge(a.context(), a.home)
	if err != nil || purged != 2 {
		t.Errorf("purged %d, %v", purged, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dirs, "*")); len(left) != 2 {
		t.Errorf("left are %q", left)
	}
	a.must(a.ensure("living"), "cat file")
	report, err := a.manager.Prune(a.context(), a.home, true)
	if err != nil || len(report.Removed) != 1 {
		t.Errorf("pruned %+v, %v", report, err)
	}
	a.inspect(foreign)
	volumes := containers.Snapshot(t, a.api, containers.Named("hermes-guest-"))
	if len(volumes) > 0 {
		t.Errorf("left are %v", volumes)
	}
	// The next one is made as if there had never been any.
	a.must(a.ensure("living"), "test ! -e file")
	if removed, err := a.manager.RemoveForeign(a.context(), a.id("theirs")); err != nil || !removed {
		t.Error(removed, err)
	}
	if err := os.RemoveAll(theirs); err != nil {
		t.Error(err)
	}
}

// foreign is a container as the Hermes agent makes them.
func (a *arena) foreign(task, profile string, binds []string) string {
	a.Helper()
	made, err := a.api.ContainerCreate(a.context(), client.ContainerCreateOptions{
		Config: &container.Config{Image: a.image, Cmd: []string{"sleep", "infinity"}, StopSignal: "KILL", // or stopping takes ten seconds
			Labels: map[string]string{"hermes-agent": "1", "hermes-task-id": task, "hermes-profile": profile, "hermes-test-home": a.home}},
		HostConfig: &container.HostConfig{Binds: binds, NetworkMode: "none"},
	})
	do(a, made, err)
	a.Cleanup(func() {
		_, _ = a.api.ContainerRemove(context.Background(), made.ID, client.ContainerRemoveOptions{Force: true})
	})
	r, err := a.api.ContainerStart(a.context(), made.ID, client.ContainerStartOptions{})
	do(a, r, err)
	return made.ID
}

// What the Hermes agent made itself is listed, never used, never reaped, and removed when
// somebody asks for it and nothing else can be meant.
func TestContainersOfTheAgentItself(t *testing.T) {
	t.Parallel()
	private := containers.PrivateDocker(t) // what has no home would be listed in those of other tests
	a, b := newArenaAt(t, private.Client(), private.Host, false), newArenaAt(t, private.Client(), private.Host, false)
	const plain, twice, bound = "plain", "twice", "bound"
	first := a.foreign(plain, "default", nil)
	a.foreign(twice, "default", nil)
	a.foreign(twice, "default", nil)
	home := filepath.Join(b.home, "sandboxes", "docker", "bound", "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	b.foreign(bound, "default", []string{home + ":" + sandbox.Home})
	listed := func(a *arena) map[string]int {
		infos, err := a.manager.List(a.context(), a.home)
		if err != nil {
			t.Fatal(err)
		}
		found := make(map[string]int)
		for _, info := range infos {
			if info.Foreign && info.State == sandbox.Running && info.Identity.Home == a.home {
				found[info.Identity.Task]++
			}
		}
		return found
	}
	if got := listed(a); got["plain"] != 1 || got["twice"] != 2 || got["bound"] != 0 {
		t.Errorf("listed are %v", got)
	}
	if got := listed(b); got["bound"] != 1 {
		t.Errorf("where it keeps its files, listed are %v", got)
	}
	if _, err := a.engine.Find(a.context(), a.id(plain)); err != sandbox.ErrNotFound {
		t.Errorf("looking for a sandbox of that name: %v", err)
	}
	if report, err := a.manager.Prune(a.context(), a.home, false); err != nil || len(report.Removed)+len(report.Kept) > 0 {
		t.Errorf("pruning did %+v, %v", report, err)
	}
	box := a.ensure(plain)
	if out := a.must(box, "hostname").out; out == first[:12] {
		t.Error("it was adopted")
	}
	if removed, err := a.manager.RemoveForeign(a.context(), a.id(plain)); err != nil || removed {
		t.Errorf("with a sandbox of that name: %v, %v", removed, err)
	}
	if err := a.manager.Remove(a.context(), a.id(plain), true); err != nil {
		t.Error(err)
	}
	a.inspect(first)
	if removed, err := a.manager.RemoveForeign(a.context(), a.id(plain)); err != nil || !removed {
		t.Errorf("removing it: %v, %v", removed, err)
	}
	if removed, err := a.manager.RemoveForeign(a.context(), a.id(plain)); err != nil || removed {
		t.Errorf("removing it again: %v, %v", removed, err)
	}
	if removed, err := a.manager.RemoveForeign(a.context(), a.id(twice)); err == nil || removed || !strings.Contains(err.Error(), "2 containers") {
		t.Errorf("of two: %v, %v", removed, err)
	}
	if removed, err := a.manager.RemoveForeign(a.context(), a.id(bound)); err != nil || removed {
		t.Errorf("what another home has: %v, %v", removed, err)
	}
	if got := listed(a); got["plain"] != 0 || got["twice"] != 2 {
		t.Errorf("in the end, listed are %v", got)
	}
	if err := os.RemoveAll(filepath.Join(b.home, "sandboxes")); err != nil {
		t.Error(err)
	}
}
