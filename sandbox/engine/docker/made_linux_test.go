package docker_test

import (
	"bytes"
	"context"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/docker"
	"hermes.example/hermes/test/containers"
)

// bound is longer than anything here takes on a busy machine.
const bound = 90 * time.Second

// workshop makes sandboxes of one test's home, and looks at them through the daemon
// itself. What is left of them goes with the test.
type workshop struct {
	testing.TB
	api     *client.Client // past whatever stands between the engine and the daemon
	home    string
	manager *sandbox.Manager
}

// newWorkshop has an engine that reaches the daemon through a client of its own.
func newWorkshop(t testing.TB, api, through *client.Client) *workshop {
	t.Helper()
	return workshopOf(t, "docker", api, through)
}

func workshopOf(t testing.TB, name string, api, through *client.Client) *workshop {
	t.Helper()
	e, err := docker.New(docker.Options{Client: through, Name: name, Arch: runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	w := &workshop{TB: t, api: api, home: t.TempDir(), manager: sandbox.NewManager(e, sandbox.Options{NoSweep: true})}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		if err := w.manager.Close(); err != nil {
			t.Error(err)
		}
		if _, err := sandbox.NewManager(e, sandbox.Options{NoSweep: true}).Prune(ctx, w.home, true); err != nil {
			t.Error(err)
		}
	})
	return w
}

func onDocker(t testing.TB) *workshop {
	t.Helper()
	api := containers.Docker(t)
	return newWorkshop(t, api, api)
}

// in is the same workshop for a part of the test.
func (w *workshop) in(t *testing.T) *workshop {
	part := *w
	part.TB = t
	return &part
}

func (w *workshop) id(task string) sandbox.Identity {
	return sandbox.Identity{Home: w.home, Task: task}.Normal()
}

// make makes a sandbox, of Busybox where the spec does not say, and
// returns the daemon's own inspection of it.
func (w *workshop) make(task string, spec sandbox.Spec) (*sandbox.Sandbox, container.InspectResponse) {
	w.Helper()
	if spec.Image == "" {
		spec.Image = containers.Busybox.In(w, w.api)
	}
	ctx, cancel := context.WithTimeout(w.Context(), bound)
	defer cancel()
	box, err := w.manager.Ensure(ctx, w.id(task), spec)
	if err != nil && strings.Contains(err.Error(), "unable to apply caps") {
		w.Skipf("this machine itself lacks capabilities: %v", err)
	}
	if err != nil {
		w.Fatal(err)
	}
	return box, w.inspect(task)
}

func (w *workshop) inspect(task string) container.InspectResponse {
	w.Helper()
	found, err := w.api.ContainerInspect(w.Context(), "hermes-"+w.id(task).Key(), client.ContainerInspectOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return found.Container
}

// left are the daemon's containers of this home.
func (w *workshop) left() []container.Summary {
	w.Helper()
	all, err := w.api.ContainerList(context.Background(), client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", "hermes-identity")})
	if err != nil {
		w.Fatal(err)
	}
	return slices.DeleteFunc(all.Items, func(c container.Summary) bool { return !strings.Contains(c.Labels["hermes-identity"], w.home) })
}

// run runs a line and takes any outcome.
func (w *workshop) run(box *sandbox.Sandbox, line string) (string, sandbox.Result) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), bound)
	defer cancel()
	var out bytes.Buffer
	res, err := box.Exec(ctx, sandbox.Command{Line: line, Stdout: &out, Stderr: &out})
	if err != nil {
		w.Fatalf("%q: %v\n%s", line, err, out.String())
	}
	return strings.TrimSpace(out.String()), res
}

// facts are those of a sandbox's posture by their names.
func (w *workshop) facts(box *sandbox.Sandbox) map[string]sandbox.Fact {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), bound)
	defer cancel()
	posture, err := box.Posture(ctx)
	if err != nil {
		w.Fatal(err)
	}
	facts := make(map[string]sandbox.Fact)
	for _, f := range posture.Facts {
		if _, twice := facts[f.Name]; twice {
			w.Errorf("%s is there twice", f.Name)
		}
		facts[f.Name] = f
	}
	return facts
}

// network makes one that goes with the test.
func (w *workshop) network(subnet string) string {
	w.Helper()
	name := "hermes-test-" + w.id("network").Key()
	_, err := w.api.NetworkCreate(w.Context(), name, client.NetworkCreateOptions{Driver: "bridge", IPAM: &network.IPAM{Config: []network.IPAMConfig{{Subnet: netip.MustParsePrefix(subnet)}}}})
	if err != nil {
		w.Skipf("the daemon makes no network here: %v", err)
	}
	w.Cleanup(func() {
		for _, c := range w.left() {
			w.api.ContainerRemove(context.Background(), c.ID, client.ContainerRemoveOptions{Force: true})
		}
		if _, err := w.api.NetworkRemove(context.Background(), name, client.NetworkRemoveOptions{}); err != nil {
			w.Error(err)
		}
	})
	return name
}
