package configured

import (
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

// lookupIn finds variables in a map.
func lookupIn(vars map[string]string) config.Lookup {
	return func(name string) (string, bool) {
		value, found := vars[name]
		return value, found
	}
}

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
		s := &Sandboxes{options: Options{}.completed()}
		got := s.join(test.given, configuration{container: &container{settings: settings, extra: extra, user: test.user}})
		if got.Hash() != test.want.Hash() {
			t.Errorf("%s: %v", name, test.want.Difference(got))
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		again := s.join(got, configuration{container: &container{settings: settings, extra: extra, user: test.user}})
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
		return Options{Profile: profile}.identity(c, "build", containers)
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
