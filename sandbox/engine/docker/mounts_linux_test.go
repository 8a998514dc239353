package docker_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/mount"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/test/containers"
)

// binds are what the daemon says that is bound from this machine, by where it is inside.
func (f *far) binds() map[string]string {
	f.t.Helper()
	found := make(map[string]string)
	for _, m := range f.container().Mounts {
		if m.Type == mount.TypeBind && !strings.HasPrefix(m.Destination, "/.hermes/") {
			found[m.Destination] = m.Source
		}
	}
	return found
}

// TestWhatTheDaemonMounts is about the contract's mounts, as the daemon tells of them.
func TestWhatTheDaemonMounts(t *testing.T) {
	api := containers.Docker(t)
	dir := t.TempDir()
	at := func(target string) func(*sandbox.Spec) {
		return func(s *sandbox.Spec) { s.Mounts = []sandbox.Mount{{Source: dir, Target: target}} }
	}
	kept := func(f *far, name string) string {
		return filepath.Join(f.id.Home, "sandboxes", "docker", f.id.Name(), name)
	}
	t.Run("persistent: home and workspace of the sandbox", func(t *testing.T) {
		f := newFar(t, api)
		f.says("true", "")
		if got, want := f.binds(), (map[string]string{sandbox.Home: kept(f, "home"), sandbox.Workspace: kept(f, "workspace")}); !maps.Equal(got, want) {
			t.Errorf("it binds %v, not %v", got, want)
		}
	})
	t.Run("not persistent: memory, and no directories", func(t *testing.T) {
		f := newFar(t, api)
		// It ends with its last user.
		s, err := f.Ensure(f.bounded(), f.id, func() sandbox.Spec {
			spec := f.spec
			spec.Ephemeral, spec.Limits.Memory = true, -1
			return spec
		}())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if got := f.binds(); len(got) > 0 {
			t.Errorf("it binds %v", got)
		}
		memory := f.container().HostConfig.Tmpfs
		for target, size := range map[string]string{sandbox.Workspace: "size=10g", "/home": "size=1g", sandbox.Home: "size=1g"} {
			if !slices.Contains(strings.Split(memory[target], ","), size) {
				t.Errorf("%s is %q", target, memory[target])
			}
		}
		if _, err := os.Stat(filepath.Join(f.id.Home, "sandboxes")); err == nil {
			t.Error("it has a directory of the host")
		}
	})
	t.Run("one at the workspace replaces it", func(t *testing.T) {
		f := newFar(t, api)
		f.says("true", "", at("/workspace"))
		if got, want := f.binds(), (map[string]string{sandbox.Home: kept(f, "home"), sandbox.Workspace: dir}); !maps.Equal(got, want) {
			t.Errorf("it binds %v, not %v", got, want)
		}
	})
	t.Run("one below the workspace does not", func(t *testing.T) {
		f := newFar(t, api)
		f.says("true", "", at("/workspace/projects"))
		want := map[string]string{sandbox.Home: kept(f, "home"), sandbox.Workspace: kept(f, "workspace"), "/workspace/projects": dir}
		if got := f.binds(); !maps.Equal(got, want) {
			t.Errorf("it binds %v, not %v", got, want)
		}
	})
}
