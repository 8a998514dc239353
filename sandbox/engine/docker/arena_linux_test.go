package docker_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/docker"
	"hermes.example/hermes/test/containers"
)

// arena is an engine on a daemon, with a home. Nothing of it is left when its test ends.
type arena struct {
	t       *testing.T
	name    string // of the daemon
	api     *client.Client
	engine  sandbox.Engine
	manager *sandbox.Manager
	home    string
}

func newArena(t *testing.T, name string, api *client.Client) *arena {
	t.Helper()
	a := &arena{t: t, name: name, api: api, home: t.TempDir()}
	a.connect()
	containers.NoLeaks(t, api, func(_ string, labels map[string]string) bool {
		return strings.Contains(labels["hermes-identity"], a.home)
	})
	t.Cleanup(func() {
		if _, err := a.manager.Prune(context.Background(), a.home, true); err != nil {
			t.Error(err)
		}
		if err := a.manager.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// connect makes an engine and a manager that know nothing yet.
func (a *arena) connect() {
	a.t.Helper()
	engine, err := docker.New(docker.Options{Client: a.api, Name: a.name, Arch: runtime.GOARCH, Host: a.api.DaemonHost()})
	if err != nil {
		a.t.Fatal(err)
	}
	a.engine, a.manager = engine, sandbox.NewManager(engine, sandbox.Options{NoSweep: true})
}

// build makes a program that runs in any image.
func build(t *testing.T, name, of string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", path, of)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build %s: %v\n%s", name, err, out)
	}
	return path
}

// onEachDaemon runs a test on Docker and on Podman.
func onEachDaemon(t *testing.T, test func(t *testing.T, a *arena)) {
	for name, connect := range map[string]func(testing.TB) *client.Client{"docker": containers.Docker, "podman": containers.Podman} {
		t.Run(name, func(t *testing.T) { test(t, newArena(t, name, connect(t))) })
	}
}

func (a *arena) id() sandbox.Identity { return sandbox.Identity{Home: a.home, Task: "own"}.Normal() }

// box makes the arena's sandbox of an image, without a network.
func (a *arena) box(image containers.Image, changes ...func(*sandbox.Spec)) *sandbox.Sandbox {
	a.t.Helper()
	box, err := a.try(image, changes...)
	if err != nil {
		a.t.Fatal(err)
	}
	return box
}

func (a *arena) try(image containers.Image, changes ...func(*sandbox.Spec)) (*sandbox.Sandbox, error) {
	a.t.Helper()
	spec := sandbox.Spec{Image: image.In(a.t, a.api), Network: sandbox.NetworkNone}
	for _, change := range changes {
		change(&spec)
	}
	return a.manager.Ensure(a.t.Context(), a.id(), spec)
}

// inspect is what the daemon says of the sandbox's container.
func (a *arena) inspect() container.InspectResponse {
	a.t.Helper()
	found, err := a.api.ContainerInspect(a.t.Context(), "hermes-"+a.id().Key(), client.ContainerInspectOptions{})
	if err != nil {
		a.t.Fatal(err)
	}
	return found.Container
}

// run runs a command and returns how it ended and what it printed.
func (a *arena) run(box *sandbox.Sandbox, c sandbox.Command) (sandbox.Result, string) {
	a.t.Helper()
	var out strings.Builder
	c.Stdout = &out
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
	defer cancel()
	result, err := box.Exec(ctx, c)
	if err != nil {
		a.t.Fatalf("%s%v: %v", c.Line, c.Argv, err)
	}
	return result, strings.TrimSpace(out.String())
}

// says runs a line that must succeed and returns what it prints.
func (a *arena) says(box *sandbox.Sandbox, line string) string {
	a.t.Helper()
	result, out := a.run(box, sandbox.Command{Line: line})
	if result.Code != 0 {
		a.t.Fatalf("%q ends with %+v: %s", line, result, out)
	}
	return out
}
