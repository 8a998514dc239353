package cli

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/sandbox"
)

// configOf is the configuration of a home with these settings of its terminal.
func configOf(t *testing.T, vars map[string]string, terminal ...string) config.Config {
	t.Helper()
	home := t.TempDir()
	text := "terminal:\n  " + strings.Join(terminal, "\n  ") + "\n"
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"HERMES_HOME": home}
	maps.Copy(all, vars)
	c, err := config.Load(lookupIn(all))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// refusing is an engine of containers that makes none, and remembers what it should
// have made.
type refusing struct {
	sandbox.Engine
	asked []sandbox.Spec
}

var errRefused = errors.New("refused")

func (e *refusing) Name() string { return "refusing" }

func (e *refusing) Capabilities() sandbox.Capabilities {
	return sandbox.Capabilities{Isolated: true, Mounts: true, Containers: true, Networks: []sandbox.Network{sandbox.NetworkBridge, sandbox.NetworkNone}}
}

func (e *refusing) Find(context.Context, sandbox.Identity) (sandbox.Info, error) {
	return sandbox.Info{}, sandbox.ErrNotFound
}

func (e *refusing) Create(_ context.Context, _ sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	e.asked = append(e.asked, spec)
	return sandbox.Info{}, errRefused
}

// stopped has one container that does not run, and starts none.
type stopped struct {
	refusing
	spec sandbox.Spec
}

func (e *stopped) Find(_ context.Context, id sandbox.Identity) (sandbox.Info, error) {
	return sandbox.Info{Identity: id, State: sandbox.Stopped, Spec: e.spec.Public(), SpecHash: e.spec.Hash()}, nil
}

func (e *stopped) Start(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	return e.Create(ctx, id, spec)
}

// with are the engines of this build, and one more.
func with(name string, e sandbox.Engine) map[string]configured.Maker {
	makers := configured.Makers()
	makers[name] = func(configured.Options, config.Config) (sandbox.Engine, error) { return e, nil }
	return makers
}

// All ways to a sandbox go through one constructor; only what is said makes a difference.
func TestD29EveryCommandMakesTheSameContainer(t *testing.T) {
	e := new(refusing)
	c := configOf(t, nil, "backend: refusing", "docker_image: busybox", "docker_env: {A: 1}", "container_memory: 64", "docker_network: false")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	want := sandbox.Spec{Image: "busybox", Cwd: "/root", Env: map[string]string{"A": "1"}, Network: sandbox.NetworkNone,
		Limits: sandbox.Limits{CPUs: 1, Memory: 64 << 20, Pids: 256, Disk: 50 << 30, SharedMemory: 1 << 30}}
	ephemeral := want
	ephemeral.Ephemeral = true
	chosen := want
	chosen.User, chosen.Limits.Memory = "7", 1<<30
	for line, want := range map[string]sandbox.Spec{
		"sandbox exec -- true":                        want,
		"sandbox exec --session s -c true":            want,
		"sandbox start -- true":                       want,
		"sandbox cat /etc/hosts":                      want,
		"sandbox cp :/etc/hosts -":                    want,
		"run -- true":                                 ephemeral,
		"sandbox exec --user 7 --memory 1g -- true":   chosen,
		"sandbox start --user 7 --memory 1g -- true":  chosen,
		"sandbox exec --engine refusing --here -- ls": want,
	} {
		e.asked = nil
		stderr := new(bytes.Buffer)
		a := &app{makers: with("refusing", e), stdout: new(bytes.Buffer), stderr: stderr, lookup: lookupIn(map[string]string{"HERMES_HOME": c.Home})}
		status := a.run(t.Context(), strings.Fields(line))
		if status == 0 || len(e.asked) != 1 || !strings.Contains(stderr.String(), errRefused.Error()) {
			t.Errorf("%s: status %d, %d creations, %q", line, status, len(e.asked), stderr)
			continue
		}
		got := e.asked[0]
		if strings.Contains(line, "--here") {
			if got.Cwd != sandbox.Workspace || len(got.Mounts) != 1 {
				t.Errorf("%s: %+v", line, got)
			}
			got.Cwd, got.Mounts = want.Cwd, nil
		}
		if got.Hash() != want.Hash() {
			t.Errorf("%s: %v", line, want.Difference(got))
		}
	}
}

// What its maker chose comes back with it, and the values of variables from where
// they are configured.
func TestStoppedContainersComeBackAsTheyWere(t *testing.T) {
	e := &stopped{spec: sandbox.Spec{User: "7", Image: "old", Env: map[string]string{"A": "1"}, Chosen: []string{"user"}}}
	c := configOf(t, nil, "backend: stopped", "docker_env: {A: 2}")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	a := &app{makers: with("stopped", e), stdout: new(bytes.Buffer), stderr: new(bytes.Buffer), lookup: lookupIn(map[string]string{"HERMES_HOME": c.Home})}
	a.run(t.Context(), strings.Fields("sandbox exec -- true"))
	if len(e.asked) != 1 || e.asked[0].User != "7" || e.asked[0].Image != config.DefaultImage || e.asked[0].Env["A"] != "2" {
		t.Errorf("started as %d, %+v", len(e.asked), e.asked)
	}
}

func TestExtraArgumentsReachTheSpec(t *testing.T) {
	e := new(refusing)
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		terminal []string
		mounts   []sandbox.Mount
		said     []string
	}{
		"in the place of a volume": {[]string{"docker_volumes: ['/usr:/data', '/usr:/other:ro']", "docker_extra_args: [-v, '" + dir + ":/data:ro']"},
			[]sandbox.Mount{{Source: "/usr", Target: "/other", ReadOnly: true, Origin: sandbox.ByConfig}, {Source: dir, Target: "/data", ReadOnly: true, Origin: sandbox.ByConfig}}, []string{errRefused.Error()}},
		"a source that is missing": {[]string{"docker_extra_args: [-v, '" + dir + "/none:/data']"}, nil, []string{"does not exist"}},
		"a network that is off":    {[]string{"docker_network: false", "docker_extra_args: [--network, host]"}, nil, []string{"docker_network", "docker_extra_args"}},
		"what is not text":         {[]string{"docker_extra_args: [42]"}, []sandbox.Mount{}, []string{"docker_extra_args: entry 1", errRefused.Error()}},
		"what is not known":        {[]string{"docker_extra_args: [--frobnicate]"}, nil, []string{"frobnicate"}},
	} {
		e.asked = nil
		c := configOf(t, nil, append(test.terminal, "backend: refusing")...)
		stderr := new(bytes.Buffer)
		a := &app{makers: with("refusing", e), stdout: new(bytes.Buffer), stderr: stderr, lookup: lookupIn(map[string]string{"HERMES_HOME": c.Home})}
		a.run(t.Context(), strings.Fields("sandbox exec -- true"))
		for _, part := range test.said {
			if !strings.Contains(stderr.String(), part) {
				t.Errorf("%s: %q is not said in %q", name, part, stderr)
			}
		}
		if (len(e.asked) == 1) != (test.mounts != nil) || len(e.asked) == 1 && !slices.Equal(e.asked[0].Mounts, test.mounts) {
			t.Errorf("%s: %+v", name, e.asked)
		}
	}
}

func TestBackendsThatThereAreNot(t *testing.T) {
	for _, backend := range []string{"ssh", "singularity", "modal", "daytona", "vercel_sandbox", "a_plugin"} {
		for name, line := range map[string]string{"runner": "sandbox exec -- true", "plain": "sandbox ls", "starter": "sandbox start -- true"} {
			stderr := new(bytes.Buffer)
			a := &app{stdout: new(bytes.Buffer), stderr: stderr, lookup: lookupIn(map[string]string{"HERMES_HOME": t.TempDir(), "TERMINAL_ENV": backend})}
			if status := a.run(t.Context(), strings.Fields(line)); status != 78 {
				t.Errorf("%s by a %s: status %d", backend, name, status)
			}
			said := stderr.String()
			for _, part := range []string{`"` + backend + `"`, "terminal.backend", "TERMINAL_ENV", "local", "native"} {
				if !strings.Contains(said, part) || strings.Count(said, "\n") != 1 {
					t.Errorf("%s: %q does not say %q in a line", backend, said, part)
				}
			}
		}
	}
	stderr := new(bytes.Buffer)
	a := &app{stdout: new(bytes.Buffer), stderr: stderr, lookup: lookupIn(map[string]string{"HERMES_HOME": t.TempDir()})}
	if status := a.run(t.Context(), strings.Fields("sandbox exec --engine ssh -- true")); status != 2 || !strings.Contains(stderr.String(), "native") {
		t.Errorf("by a flag: status %d, %q", status, stderr)
	}
}
