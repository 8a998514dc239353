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
	"hermes.example/hermes/internal/containerargs"
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

func TestSettingsBecomeASpec(t *testing.T) {
	usual := sandbox.Spec{Image: config.DefaultImage, Cwd: "/root", Network: sandbox.NetworkBridge,
		Limits: sandbox.Limits{CPUs: 1, Memory: 5 << 30, Pids: 256, Disk: 50 << 30, SharedMemory: 1 << 30}}
	with := func(change func(*sandbox.Spec)) sandbox.Spec {
		spec := usual
		change(&spec)
		return spec
	}
	here := []sandbox.Mount{{Source: "/here", Target: sandbox.Workspace}}
	for name, test := range map[string]struct {
		terminal []string
		given    sandbox.Spec
		user     string
		want     sandbox.Spec
	}{
		"nothing":         {want: usual},
		"no limits":       {[]string{"container_cpu: 0", "container_memory: 0", "container_disk: 0"}, sandbox.Spec{}, "", with(func(s *sandbox.Spec) { s.Limits.CPUs, s.Limits.Memory, s.Limits.Disk = 0, -1, -1 })},
		"shared memory":   {[]string{"docker_shm_size: 256m"}, sandbox.Spec{}, "", with(func(s *sandbox.Spec) { s.Limits.SharedMemory = 256 << 20 })},
		"none of it":      {[]string{"docker_shm_size: ''"}, sandbox.Spec{}, "", with(func(s *sandbox.Spec) { s.Limits.SharedMemory = -1 })},
		"no network":      {[]string{"docker_network: false"}, sandbox.Spec{}, "", with(func(s *sandbox.Spec) { s.Network = sandbox.NetworkNone })},
		"a directory":     {[]string{"cwd: /srv"}, sandbox.Spec{}, "", with(func(s *sandbox.Spec) { s.Cwd = "/srv" })},
		"the home":        {[]string{"cwd: '~'"}, sandbox.Spec{}, "", usual},
		"one of the host": {[]string{"cwd: /home/me"}, sandbox.Spec{}, "", usual},
		"a user":          {nil, sandbox.Spec{}, "1234:5678", with(func(s *sandbox.Spec) { s.User = "1234:5678" })},
		"variables":       {[]string{"docker_env: {A: 1, B: true, C: [x]}"}, sandbox.Spec{}, "", with(func(s *sandbox.Spec) { s.Env = map[string]string{"A": "1", "B": "True"} })},
		"a workspace":     {nil, sandbox.Spec{Mounts: here}, "", with(func(s *sandbox.Spec) { s.Cwd, s.Mounts = sandbox.Workspace, here })},
		"an argument":     {[]string{"docker_shm_size: 1g", "docker_extra_args: [--shm-size, 4g, --cpus=2]"}, sandbox.Spec{}, "", with(func(s *sandbox.Spec) { s.Limits.SharedMemory, s.Limits.CPUs = 4<<30, 2 })},
		"a chosen part":   {[]string{"docker_extra_args: [--cpus=2]"}, sandbox.Spec{Limits: sandbox.Limits{CPUs: 3}, Chosen: []string{"cpus"}}, "", with(func(s *sandbox.Spec) { s.Limits.CPUs = 3 })},
		"a snap":          {[]string{"docker_snap_compat: true"}, sandbox.Spec{}, "", with(func(s *sandbox.Spec) { s.Container = &sandbox.Container{NewPrivileges: true} })},
		"another image":   {[]string{"docker_image: busybox"}, sandbox.Spec{}, "", with(func(s *sandbox.Spec) { s.Image = "busybox" })},
		// What a sandbox was made as, by another configuration, follows this one.
		"what was configured": {nil, sandbox.Spec{Image: "old", User: "1:1", Cwd: "/old", Network: sandbox.NetworkNone, Env: map[string]string{"OLD": ""}, Limits: sandbox.Limits{Memory: 1, Disk: 1}}, "", usual},
		"what was chosen": {[]string{"docker_network: false", "docker_image: busybox"},
			sandbox.Spec{Image: "mine", User: "1:1", Network: sandbox.NetworkHost, Limits: sandbox.Limits{CPUs: 3, Memory: 7 << 20, Pids: 9}, Chosen: []string{"image", "user", "network", "cpus", "memory", "pids"}}, "2:2",
			with(func(s *sandbox.Spec) {
				s.Image, s.User, s.Network = "mine", "1:1", sandbox.NetworkHost
				s.Limits.CPUs, s.Limits.Memory, s.Limits.Pids = 3, 7<<20, 9
			})},
	} {
		settings, err := configOf(t, nil, test.terminal...).Container()
		if err != nil {
			t.Fatal(err)
		}
		extra, _, err := containerargs.Parse(settings.ExtraArgs, lookupIn(nil))
		if err != nil {
			t.Fatal(err)
		}
		a := &app{stderr: new(bytes.Buffer)}
		got := a.join(test.given, configuration{container: &container{settings: settings, extra: extra, user: test.user}})
		if got.Hash() != test.want.Hash() {
			t.Errorf("%s: %v", name, test.want.Difference(got))
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		again := a.join(got, configuration{container: &container{settings: settings, extra: extra, user: test.user}})
		if again.Hash() != got.Hash() || !slices.Equal(again.Chosen, test.given.Chosen) {
			t.Errorf("%s: the same configuration changes it: %v", name, got.Difference(again))
		}
	}
	given := sandbox.Spec{Image: "i", Env: map[string]string{"A": "1"}}
	if got := (*container)(nil).complete(given); got.Hash() != given.Hash() {
		t.Errorf("what is no container is completed: %v", given.Difference(got))
	}
}

func TestTheHostsUser(t *testing.T) {
	for name, test := range map[string]struct {
		wanted   bool
		uid, gid int
		want     string
		warned   bool
	}{
		"not wanted": {false, 1234, 5678, "", false},
		"wanted":     {true, 1234, 5678, "1234:5678", false},
		"no numbers": {true, -1, -1, "", true},
	} {
		user, warning := hostUser(test.wanted, test.uid, test.gid)
		if user != test.want || (len(warning) > 0) != test.warned {
			t.Errorf("%s: %q, %q", name, user, warning)
		}
		if test.warned && !strings.Contains(warning[0], "docker_run_as_host_user") {
			t.Errorf("%s: %q", name, warning)
		}
	}
}

func TestSharedContainersHaveOneIdentity(t *testing.T) {
	root := t.TempDir()
	identity := func(home, profile, key string, containers bool) sandbox.Identity {
		t.Helper()
		c, err := config.Load(lookupIn(map[string]string{"HERMES_HOME": home, "TERMINAL_DOCKER_SHARED_CONTAINER_KEY": key}))
		if err != nil {
			t.Fatal(err)
		}
		return (&target{task: "build", profile: profile, containers: containers}).identity(c)
	}
	a := identity(root, "a", "team/workspace", true)
	for name, same := range map[string]sandbox.Identity{
		"another profile":      identity(root, "b", "team/workspace", true),
		"a profile's own home": identity(filepath.Join(root, "profiles", "c"), "default", "team/workspace", true),
	} {
		if same.Key() != a.Key() || !maps.Equal(same.Labels(), a.Labels()) {
			t.Errorf("%s: %v, not %v", name, same, a)
		}
	}
	labels := map[string]bool{a.Labels()["hermes-profile"]: true}
	for name, other := range map[string]sandbox.Identity{
		"another key":            identity(root, "a", "team_workspace", true),
		"a long key":             identity(root, "a", strings.Repeat("team/workspace", 10), true),
		"a longer key":           identity(root, "a", strings.Repeat("team/workspace", 11), true),
		"a profile of that name": identity(root, "team_workspace", "", true),
		"no container":           identity(root, "a", "team/workspace", false),
	} {
		label := other.Labels()["hermes-profile"]
		if other.Key() == a.Key() || labels[label] || len(label) > 63 {
			t.Errorf("%s: %v, label %q", name, other, label)
		}
		labels[label] = true
	}
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

// engine makes an engine known by a name, for a test.
func engine(t *testing.T, name string, e sandbox.Engine) {
	t.Helper()
	engines[name] = func(*app, config.Config) (sandbox.Engine, error) { return e, nil }
	t.Cleanup(func() { delete(engines, name) })
}

// All ways to a sandbox go through one constructor; only what is said makes a difference.
func TestD29EveryCommandMakesTheSameContainer(t *testing.T) {
	e := new(refusing)
	engine(t, "refusing", e)
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
		a := &app{stdout: new(bytes.Buffer), stderr: stderr, lookup: lookupIn(map[string]string{"HERMES_HOME": c.Home})}
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
	engine(t, "stopped", e)
	c := configOf(t, nil, "backend: stopped", "docker_env: {A: 2}")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	a := &app{stdout: new(bytes.Buffer), stderr: new(bytes.Buffer), lookup: lookupIn(map[string]string{"HERMES_HOME": c.Home})}
	a.run(t.Context(), strings.Fields("sandbox exec -- true"))
	if len(e.asked) != 1 || e.asked[0].User != "7" || e.asked[0].Image != config.DefaultImage || e.asked[0].Env["A"] != "2" {
		t.Errorf("started as %d, %+v", len(e.asked), e.asked)
	}
}

func TestExtraArgumentsReachTheSpec(t *testing.T) {
	e := new(refusing)
	engine(t, "refusing", e)
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
		a := &app{stdout: new(bytes.Buffer), stderr: stderr, lookup: lookupIn(map[string]string{"HERMES_HOME": c.Home})}
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
