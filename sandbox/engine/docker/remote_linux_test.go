package docker_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/contained"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/docker"
	"hermes.example/hermes/sandbox/enginetest"
	"hermes.example/hermes/test/containers"
)

// hang is how long anything may take before it counts as stuck.
const hang = 90 * time.Second

var farLacks = map[enginetest.Ability]string{
	enginetest.DirectLines: "a connection costs a process in the container",
	enginetest.HostMounts:  "the daemon does not see this machine's files",
}

// conform runs a part of the suite.
func conform(t *testing.T, api *client.Client, without map[enginetest.Ability]string, themes ...string) {
	config := conformance(t, "docker", api)
	maps.Copy(config.Without, without)
	config.Themes = themes
	enginetest.Run(t, config)
}

// elsewhere is a daemon that sees none of the files that this test makes from now on.
func elsewhere(t *testing.T) *containers.Private {
	t.Helper()
	d := containers.PrivateDocker(t)
	d.Hide(ownPlace(t))
	return d
}

// ownPlace makes all of the test's files lie in one directory.
func ownPlace(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "place") // the name of a test may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	run := filepath.Join(dir, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	t.Setenv("XDG_RUNTIME_DIR", run)
	return dir
}

// far is a manager of sandboxes of such a daemon.
type far struct {
	*sandbox.Manager
	t      *testing.T
	engine sandbox.Engine
	api    *client.Client
	spec   sandbox.Spec
	id     sandbox.Identity
}

func newFar(t *testing.T, api *client.Client) *far {
	t.Helper()
	return newFarOf(t, api, "docker")
}

func newFarOf(t *testing.T, api *client.Client, kind string) *far {
	t.Helper()
	e, err := docker.New(docker.Options{Client: api, Name: kind, Arch: runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	image := os.Getenv(imageVariable)
	if image == "" {
		image = containers.Busybox.In(t, api)
	}
	f := &far{Manager: sandbox.NewManager(e, sandbox.Options{NoSweep: true}), t: t, engine: e, api: api,
		spec: sandbox.Spec{Image: image, Cwd: sandbox.Workspace, Network: sandbox.NetworkNone},
		id:   sandbox.Identity{Home: t.TempDir(), Task: "far"}.Normal()}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), hang)
		defer cancel()
		if err := f.Remove(ctx, f.id, true); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *far) bounded() context.Context {
	ctx, cancel := context.WithTimeout(f.t.Context(), hang)
	f.t.Cleanup(cancel)
	return ctx
}

// says runs a line in the identity's sandbox, which is made if need be.
func (f *far) says(line, want string, change ...func(*sandbox.Spec)) {
	f.t.Helper()
	spec := f.spec
	for _, c := range change {
		c(&spec)
	}
	s, err := f.Ensure(f.bounded(), f.id, spec)
	if err != nil {
		f.t.Fatal(err)
	}
	defer s.Close()
	var out bytes.Buffer
	if r, err := s.Exec(f.bounded(), sandbox.Command{Line: line, Stdout: &out}); err != nil || r.Code != 0 || strings.TrimSpace(out.String()) != want {
		f.t.Errorf("%q prints %q, not %q: %v, %v", line, out.String(), want, r, err)
	}
}

// container is the sandbox's, as the daemon knows it.
func (f *far) container() container.InspectResponse {
	f.t.Helper()
	found, err := f.api.ContainerInspect(f.bounded(), "hermes-"+f.id.Key(), client.ContainerInspectOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return found.Container
}

func (f *far) keeps() (bool, error) {
	return f.engine.(interface {
		Keeps(context.Context, sandbox.Identity) (bool, error)
	}).Keeps(f.bounded(), f.id)
}

func (f *far) volumes() (names []string) {
	f.t.Helper()
	all, err := f.api.VolumeList(f.bounded(), client.VolumeListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, v := range all.Items {
		if strings.HasPrefix(v.Name, "hermes-"+f.id.Key()) {
			names = append(names, strings.TrimPrefix(v.Name, "hermes-"+f.id.Key()+"-"))
		}
	}
	slices.Sort(names)
	return names
}

// TestD17TheSuiteElsewhere is a part of the suite on a daemon that is on another machine,
// as far as files go.
func TestD17TheSuiteElsewhere(t *testing.T) {
	d := elsewhere(t)
	t.Run("socket", func(t *testing.T) {
		conform(t, d.Client(), farLacks, themes("files", "ephemeral", "reuse")...)
	})
	t.Run("TCP", func(t *testing.T) {
		conform(t, containers.Connect(t, containers.NewProxy(t, d.Client()).TCPHost), farLacks, themes("commands")...)
	})
}

func TestD17WhatIsNotSeenIsNotBound(t *testing.T) {
	d := elsewhere(t)
	t.Run("files are in volumes, and nothing is bound", func(t *testing.T) { filesInVolumes(t, newFar(t, d.Client())) })
	t.Run("it is the same after a stop", func(t *testing.T) { farAfterStop(t, newFar(t, d.Client())) })
	t.Run("directories are the user's", func(t *testing.T) {
		f := newFar(t, d.Client())
		f.says("stat -c %u:%g:%a ~ /workspace && touch ~/a /workspace/b && id -u", "1000:2000:711\n1000:2000:711\n1000",
			func(s *sandbox.Spec) { s.User = "1000:2000" })
	})
	t.Run("a host's path is refused in one line", func(t *testing.T) { farMounts(t, newFar(t, d.Client())) })
	t.Run("a start that fails leaves no volumes", func(t *testing.T) { farFailure(t, containers.NewProxy(t, d.Client())) })
	t.Run("another's volume is not taken", func(t *testing.T) { foreignVolume(t, newFar(t, d.Client())) })
}

func filesInVolumes(t *testing.T, f *far) {
	f.says("echo kept >~/file; echo too >/workspace/file", "")
	for _, m := range f.container().Mounts {
		if m.Type != mount.TypeVolume && m.Type != mount.TypeTmpfs {
			t.Errorf("%s is mounted at %s by %s", m.Source, m.Destination, m.Type)
		}
		if m.Destination == contained.Door {
			t.Error("it has a door that leads nowhere")
		}
	}
	if got := f.volumes(); !slices.Equal(got, []string{"home", "spool", "workspace"}) {
		t.Errorf("its volumes are %q", got)
	}
	for _, name := range []string{"home", "workspace", "spool"} {
		if found, _ := filepath.Glob(filepath.Join(f.id.Home, "sandboxes", "docker", "*", name)); len(found) > 0 {
			t.Errorf("a directory is left that nothing uses: %s", found)
		}
	}
	if err := f.Remove(f.bounded(), f.id, false); err != nil {
		t.Fatal(err)
	}
	if kept, err := f.keeps(); err != nil || !kept {
		t.Errorf("it keeps files: %t, %v", kept, err)
	}
	f.says("cat ~/file /workspace/file", "kept\ntoo")
	if err := f.Remove(f.bounded(), f.id, true); err != nil {
		t.Fatal(err)
	}
	if got := f.volumes(); len(got) > 0 {
		t.Errorf("removed, it has the volumes %q", got)
	}
	if kept, err := f.keeps(); err != nil || kept {
		t.Errorf("it keeps files: %t, %v", kept, err)
	}
}

func farAfterStop(t *testing.T, f *far) {
	f.says("echo kept >~/file", "")
	before := f.container().ID
	if _, err := f.api.ContainerStop(f.bounded(), before, client.ContainerStopOptions{}); err != nil {
		t.Fatal(err)
	}
	f.says("cat ~/file", "kept")
	if f.container().ID != before {
		t.Error("it was made anew")
	}
}

func farMounts(t *testing.T, f *far) {
	dir := t.TempDir()
	spec := f.spec
	spec.Mounts = []sandbox.Mount{{Source: dir, Target: "/mnt"}}
	_, err := f.Ensure(f.bounded(), f.id, spec)
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "hermes sandbox cp") || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is %v", err)
	}
	if got := f.volumes(); len(got) > 0 {
		t.Errorf("it left the volumes %q", got)
	}
	if kept, err := f.keeps(); err != nil || kept {
		t.Errorf("it keeps files: %t, %v", kept, err)
	}
	// What every sandbox of a profile has is left out.
	f.says("ls -A ~", "", func(s *sandbox.Spec) {
		s.Mounts = []sandbox.Mount{{Source: dir, Target: sandbox.Home + "/.hermes/skills", ReadOnly: true, Origin: sandbox.ByProfile}}
	})
}

func farFailure(t *testing.T, proxy *containers.Proxy) {
	f := newFar(t, proxy.Client())
	proxy.Inject(containers.Fault{On: "POST .*/start", Status: 500, Message: "no start today"})
	if _, err := f.Ensure(f.bounded(), f.id, f.spec); err == nil || !strings.Contains(err.Error(), "no start today") {
		t.Fatalf("the error is %v", err)
	}
	if got := f.volumes(); len(got) > 0 {
		t.Errorf("it left the volumes %q", got)
	}
}

func foreignVolume(t *testing.T, f *far) {
	name := "hermes-" + f.id.Key() + "-home"
	if _, err := f.api.VolumeCreate(f.bounded(), client.VolumeCreateOptions{Name: name}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Ensure(f.bounded(), f.id, f.spec); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("the error is %v", err)
	}
	if got := f.volumes(); !slices.Contains(got, "home") {
		t.Error("somebody else's volume was removed")
	}
}

// TestOverTCP is a daemon that sees our files, wherever its address is: the stream is
// as it is over its socket.
func TestOverTCP(t *testing.T) {
	proxy := containers.NewProxy(t, containers.Docker(t))
	api := containers.Connect(t, proxy.TCPHost)
	f := newFar(t, api)
	f.says("echo here", "here")
	if asked := strings.Join(proxy.Requests(), "\n"); strings.Contains(asked, "/exec") {
		t.Errorf("the daemon carries the stream:\n%s", asked)
	}
	if source := mountedAt(f.container(), contained.Door); source == "" {
		t.Error("it has no door")
	}
	t.Run("direct", func(t *testing.T) { conform(t, api, nil, themes("reuse")...) })
	t.Run("bridged", func(t *testing.T) {
		t.Setenv(bridgeVariable, "1")
		conform(t, api, map[enginetest.Ability]string{enginetest.DirectLines: farLacks[enginetest.DirectLines]}, themes("commands", "replay")...)
	})
}

func mountedAt(c container.InspectResponse, target string) string {
	for _, m := range c.Mounts {
		if m.Destination == target {
			return m.Source
		}
	}
	return ""
}
