package docker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/docker"
	"hermes.example/hermes/test/containers"
)

// spoilt is an arena behind a proxy.
func spoilt(t testing.TB, bridge bool) (*arena, *containers.Proxy) {
	t.Helper()
	api := containers.Docker(t)
	p := containers.NewProxy(t, api)
	a := newArenaAt(t, api, p.Host, bridge)
	t.Cleanup(p.Heal) // before the arena ends
	return a, p
}

// asked counts requests that begin so.
func asked(p *containers.Proxy, prefix string) int {
	n := 0
	for _, r := range p.Requests() {
		if strings.HasPrefix(r, prefix) {
			n++
		}
	}
	return n
}

const creating = "POST /containers/create"

// A question that the daemon does not answer is not answered with "there is none".
func TestALookupThatFailsIsNeverACreation(t *testing.T) {
	t.Parallel()
	const lookups = `GET /containers/(.*/)?json`
	for name, fault := range map[string]containers.Fault{
		"500":    {On: lookups, Status: http.StatusInternalServerError, Message: "out of sorts"},
		"cut":    {On: lookups, Cut: true},
		"half":   {On: lookups, Answer: true, After: 1, Cut: true},
		"silent": {On: lookups, Hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, p := spoilt(t, false)
			if name == "silent" && testing.Short() {
				t.Skip("the bound on a lookup is ten seconds")
			}
			for _, exists := range []bool{false, true} {
				if exists {
					a.must(a.ensure("t"), "echo kept > file")
				}
				before := asked(p, creating)
				p.Inject(fault)
				box, err := a.another().Ensure(a.context(), a.id("t"), a.spec())
				p.Heal()
				if err == nil || strings.Contains(err.Error(), "\n") {
					t.Errorf("exists %v: %v, %v", exists, box, err)
				}
				if got := asked(p, creating) - before; got > 0 {
					t.Errorf("exists %v: %d creations", exists, got)
				}
				if name == "silent" && !errors.Is(err, docker.ErrDaemon) {
					t.Errorf("the error is %v", err)
				}
				if _, err := a.manager.List(a.context(), a.home); err != nil {
					t.Errorf("after it healed: %v", err)
				}
			}
		})
	}
}

// What cannot be started is an error with the daemon's reason, and stays the only one.
func TestAStartThatFailsIsNeverASecondContainer(t *testing.T) {
	t.Parallel()
	a, p := spoilt(t, false)
	a.must(a.ensure("t"), "echo layer > /layer")
	before := a.one("t")
	r, err := a.api.ContainerStop(a.context(), before, client.ContainerStopOptions{})
	do(a, r, err)
	made := asked(p, creating)
	p.Inject(containers.Fault{On: `POST /containers/.*/start`, Status: http.StatusInternalServerError, Message: "no space left on device"})
	if _, err := a.another().Ensure(a.context(), a.id("t"), a.spec()); err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("the error is %v", err)
	}
	p.Heal()
	if a.one("t") != before || asked(p, creating) != made {
		t.Error("there is another container")
	}
	if out := a.must(a.ensureBy(a.another(), "t", a.spec()), "cat /layer").out; out != "layer" || a.one("t") != before {
		t.Errorf("it says %q", out)
	}
}

// A creation that fails at any step leaves nothing, and says the first reason.
func TestACreationThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	const create, start = `POST /containers/create`, `POST /containers/.*/start`
	for i, fault := range []containers.Fault{
		{On: create, Status: http.StatusInternalServerError, Message: "the first reason"},
		{On: create, Answer: true, Status: http.StatusInternalServerError, Message: "the first reason"}, // the name is taken by then
		{On: create, Answer: true, Cut: true},
		{On: start, Status: http.StatusInternalServerError, Message: "the first reason"},
		{On: start, Answer: true, Status: http.StatusInternalServerError, Message: "the first reason"}, // it runs by then
		{On: start, Answer: true, Cut: true},
		{On: `POST /volumes/create`, Times: 1, Status: http.StatusInternalServerError, Message: "the first reason"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			a, p := spoilt(t, false)
			p.Inject(fault)
			_, err := a.manager.Ensure(a.context(), a.id("t"), a.spec())
			p.Heal()
			if err == nil || strings.Contains(err.Error(), "\n") || fault.Status != 0 && !strings.Contains(err.Error(), fault.Message) {
				t.Errorf("the error is %v", err)
			}
			a.nothingOf("t")
			a.must(a.ensure("t"), "true")
		})
	}
}

// One whose caller has no more patience leaves nothing either.
func TestACreationThatIsGivenUpLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, on := range []string{`POST /containers/create`, `POST /containers/.*/start`} {
		a, p := spoilt(t, false)
		p.Inject(containers.Fault{On: on, Answer: true, Hang: true, Times: 1})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := a.manager.Ensure(ctx, a.id("t"), a.spec()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: the error is %v", on, err)
		}
		p.Heal()
		a.nothingOf("t")
	}
}

// A name that is somebody else's is not taken from them.
func TestANameThatIsTakenByAnother(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	made, err := a.api.ContainerCreate(a.context(), client.ContainerCreateOptions{Name: "hermes-" + a.id("t").Key(),
		Config: &container.Config{Image: a.image, Cmd: []string{"true"}, Labels: map[string]string{"hermes-test-home": a.home}}})
	do(a, made, err)
	defer func() {
		r, err := a.api.ContainerRemove(context.Background(), made.ID, client.ContainerRemoveOptions{Force: true})
		do(a, r, err)
	}()
	if _, err := a.manager.Ensure(a.context(), a.id("t"), a.spec()); err == nil || !strings.Contains(err.Error(), "rename or remove it") {
		t.Errorf("the error is %v", err)
	}
	if err := a.manager.Remove(a.context(), a.id("t"), true); err == nil {
		t.Error("what is another's was removed")
	}
	if a.inspect(made.ID).State.Status != container.StateCreated {
		t.Error("it was touched")
	}
	a.known = nil // nothing was made, and removing it is refused
}

func TestASlowDaemonIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, bridge := range []bool{false, true} {
		a, p := spoilt(t, bridge)
		p.Inject(containers.Fault{Delay: 150 * time.Millisecond})
		box := a.ensure("t")
		for i := range 3 {
			if out := a.must(box, fmt.Sprintf("echo %d", i)).out; out != fmt.Sprint(i) {
				t.Errorf("it says %q", out)
			}
		}
		p.Heal()
	}
}

// A daemon that fails now and then costs errors, and neither runs anything twice nor
// leaves anything behind.
func TestADaemonThatFailsNowAndThen(t *testing.T) {
	t.Parallel()
	a, p := spoilt(t, true)
	r := random(t)
	failures := 0
	for i := range size(12, 200) {
		on := []string{"GET /containers/.*/json", "POST /containers/create", "POST /containers/.*/start", "POST /containers/.*/exec", "POST /exec/.*/start", "DELETE /containers"}
		if i%2 == 1 {
			cut := r.IntN(2) == 0
			status := http.StatusInternalServerError
			if cut {
				status = 0
			}
			p.Inject(containers.Fault{On: on[i/2%len(on)], Times: 1, Answer: r.IntN(2) == 0, Cut: cut, Status: status, Message: "now and then"})
		}
		m := a.another()
		box, err := m.Ensure(a.context(), a.id("t"), a.spec())
		if err == nil {
			_, err = box.Exec(a.context(), sandbox.Command{Line: fmt.Sprintf("echo %d >> ran", i)})
		}
		if err != nil {
			failures++
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
		}
		p.Heal()
		if i%3 == 2 {
			if err := m.Remove(a.context(), a.id("t"), false); err != nil {
				t.Error(err)
			}
		}
		m.Close()
		if n := len(a.containers("t")); n > 1 {
			t.Fatalf("%d containers", n)
		}
	}
	ran := strings.Fields(a.kept("t", "ran"))
	if unique := slices.Compact(slices.Sorted(slices.Values(ran))); len(unique) != len(ran) {
		t.Errorf("something ran twice: %q", ran)
	}
	t.Logf("%d failures, %d commands ran", failures, len(ran))
	if failures == 0 || len(ran) == 0 {
		t.Error("all or nothing was spoilt")
	}
}

// An image that nobody has is one clear error.
func TestAnImageThatIsMissing(t *testing.T) {
	t.Parallel()
	a, p := spoilt(t, false)
	registry := httptest.NewServer(http.NotFoundHandler())
	defer registry.Close()
	spec := a.spec()
	spec.Image = strings.TrimPrefix(registry.URL, "http://") + "/nowhere/nothing:none"
	_, err := a.manager.Ensure(a.context(), a.id("t"), spec)
	if err == nil || strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), spec.Image) < 1 || !strings.Contains(err.Error(), "cannot fetch the image") {
		t.Errorf("the error is %v", err)
	}
	if asked(p, creating) > 0 {
		t.Error("a container was asked for")
	}
	a.nothingOf("t")
	if kept, err := a.manager.Keeps(a.context(), a.id("t")); kept || err != nil {
		t.Errorf("it keeps something: %v, %v", kept, err)
	}
}
