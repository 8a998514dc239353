package docker

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/test/containers"
)

// bound is longer than anything here takes on a busy machine.
const bound = 60 * time.Second

// arena is a home of one test in one daemon, and what looks at it from outside. At its
// end all sandboxes are removed, and what is left then is an error.
type arena struct {
	testing.TB
	home    string
	host    string
	bridge  bool
	api     *client.Client // straight to the daemon
	image   string
	engine  sandbox.Engine
	manager *sandbox.Manager
	known   []sandbox.Identity
}

// newArena is one in the daemon that all tests share.
func newArena(t testing.TB) *arena {
	t.Helper()
	api := containers.Docker(t)
	return newArenaAt(t, api, api.DaemonHost(), false)
}

// newArenaAt is one whose engine finds the daemon at the host, which may be a proxy's.
func newArenaAt(t testing.TB, api *client.Client, host string, bridge bool) *arena {
	t.Helper()
	a := &arena{TB: t, home: t.TempDir(), host: host, bridge: bridge, api: api, image: containers.Busybox.In(t, api)}
	t.Cleanup(a.scrub)
	containers.NoLeaks(t, api, a.owns)
	var err error
	if a.engine, err = newEngine(host, bridge); err != nil {
		t.Fatal(err)
	}
	a.manager = a.another()
	t.Cleanup(a.end)
	return a
}

// owns says whether something in the daemon is of this arena's home.
func (a *arena) owns(_ string, labels map[string]string) bool {
	return strings.Contains(labels["hermes-identity"], `"`+a.home+`"`) || labels["hermes-test-home"] == a.home
}

// another is a manager as another part of the program would have it.
func (a *arena) another() *sandbox.Manager {
	m := sandbox.NewManager(a.engine, sandbox.Options{NoSweep: true})
	a.Cleanup(func() { m.Close() })
	return m
}

func (a *arena) end() {
	a.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	if err := a.manager.Close(); err != nil {
		a.Errorf("cannot close the manager: %v", err)
	}
	for _, id := range a.known {
		if err := a.manager.Remove(ctx, id, true); err != nil {
			a.Errorf("cannot remove: %v", err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(a.home, "sandboxes", "docker", "*")); len(left) > 0 {
		a.Errorf("left behind: %q", left)
	}
}

// scrub removes what a test that failed has left to a daemon that others use, too.
func (a *arena) scrub() {
	if !a.Failed() {
		return
	}
	all, err := a.api.ContainerList(context.Background(), client.ContainerListOptions{All: true})
	if err != nil {
		return // a daemon of the test's own, which is gone
	}
	for _, c := range all.Items {
		if a.owns("", c.Labels) {
			_, _ = a.api.ContainerRemove(context.Background(), c.ID, client.ContainerRemoveOptions{Force: true})
		}
	}
}

func (a *arena) context() context.Context {
	ctx, cancel := context.WithTimeout(a.Context(), bound)
	a.Cleanup(cancel)
	return ctx
}

// id is an identity of the arena's home, which is removed with it.
func (a *arena) id(task string) sandbox.Identity {
	id := sandbox.Identity{Home: a.home, Task: task}.Normal()
	if !slices.Contains(a.known, id) {
		a.known = append(a.known, id)
	}
	return id
}

func (a *arena) spec() sandbox.Spec {
	return sandbox.Spec{Image: a.image, Cwd: sandbox.Workspace, Network: sandbox.NetworkNone}
}

func (a *arena) ensure(task string) *sandbox.Sandbox {
	a.Helper()
	return a.ensureBy(a.manager, task, a.spec())
}

func (a *arena) ensureBy(m *sandbox.Manager, task string, spec sandbox.Spec) *sandbox.Sandbox {
	a.Helper()
	box, err := m.Ensure(a.context(), a.id(task), spec)
	if err != nil {
		a.Fatal(err)
	}
	return box
}

// outcome is a result with what the command printed.
type outcome struct {
	sandbox.Result
	out string
	err error
}

func (a *arena) try(box *sandbox.Sandbox, c sandbox.Command) outcome {
	a.Helper()
	var out bytes.Buffer
	if c.Stdout == nil {
		c.Stdout = &out
	}
	res, err := box.Exec(a.context(), c)
	return outcome{res, out.String(), err}
}

// must runs a line that has to succeed, and returns its result with what it printed.
func (a *arena) must(box *sandbox.Sandbox, line string) outcome {
	a.Helper()
	o := a.try(box, sandbox.Command{Line: line})
	if o.err != nil || o.Code != 0 {
		a.Fatalf("%q: %+v %v\n%s", line, o.Result, o.err, o.out)
	}
	o.out = strings.TrimSpace(o.out)
	return o
}

// begun runs a command until it has said something, and hands out its end.
func (a *arena) begun(box *sandbox.Sandbox, c sandbox.Command) <-chan outcome {
	a.Helper()
	said := &firstWord{said: make(chan struct{})}
	c.Stdout = said
	done := make(chan outcome, 1)
	go func() {
		res, err := box.Exec(a.context(), c)
		done <- outcome{res, said.String(), err}
	}()
	select {
	case <-said.said:
	case o := <-done:
		a.Fatalf("it ended: %+v %v", o.Result, o.err)
	}
	return done
}

// firstWord tells when something is written.
type firstWord struct {
	bytes.Buffer
	said chan struct{}
	told bool
}

func (w *firstWord) Write(p []byte) (int, error) {
	if !w.told {
		w.told = true
		close(w.said)
	}
	return w.Buffer.Write(p)
}

// containers lists those of a task, by id.
func (a *arena) containers(task string) (ids []string) {
	a.Helper()
	for _, c := range a.listed(task) {
		ids = append(ids, c.ID)
	}
	return ids
}

// listed is what the daemon's list says of them. One of them can be gone a moment later.
func (a *arena) listed(task string) []container.Summary {
	a.Helper()
	filters := client.Filters{}
	for name, value := range a.id(task).Labels() {
		filters.Add("label", name+"="+value)
	}
	all, err := a.api.ContainerList(a.context(), client.ContainerListOptions{All: true, Filters: filters})
	if err != nil {
		a.Fatal(err)
	}
	return all.Items
}

// one is the only container of a task.
func (a *arena) one(task string) string {
	a.Helper()
	all := a.containers(task)
	if len(all) != 1 {
		a.Fatalf("%q has %d containers", task, len(all))
	}
	return all[0]
}

func (a *arena) inspect(id string) container.InspectResponse {
	a.Helper()
	found, err := a.api.ContainerInspect(a.context(), id, client.ContainerInspectOptions{})
	if err != nil {
		a.Fatal(err)
	}
	return found.Container
}

// kept is what a sandbox has in a file of its workspace.
func (a *arena) kept(task, name string) string {
	text, _ := os.ReadFile(filepath.Join(a.home, "sandboxes", "docker", a.id(task).Name(), "workspace", name))
	return string(text)
}

// nothingOf fails if there is any trace of a task in the daemon.
func (a *arena) nothingOf(task string) {
	a.Helper()
	if all := a.containers(task); len(all) > 0 {
		a.Errorf("%q has left %v", task, all)
	}
}

// do is an operation from outside that has to succeed.
func do[R any](a *arena, result R, err error) {
	a.Helper()
	if err != nil {
		a.Fatal(fmt.Errorf("from outside: %w", err))
	}
}

// eventually waits for a condition within ten seconds.
func eventually(what func() bool) bool {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if what() {
			return true
		}
	}
	return what()
}
