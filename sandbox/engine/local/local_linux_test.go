package local_test

import (
	"os"
	"path/filepath"
	"testing"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/local"
	"hermes.example/hermes/sandbox/enginetest"
)

func TestMain(m *testing.M) {
	if os.Getenv(attackVariable) != "" {
		os.Exit(attacker(os.Args[1:]))
	}
	enginetest.Main(m, newEngine)
}

func newEngine() (sandbox.Engine, error) { return local.New(local.Options{}) }

// TestLocal runs the suite as whoever runs the tests.
func TestLocal(t *testing.T) {
	// Sockets and locks of the tests are theirs alone, so that what they leave
	// can be told from what others have.
	run := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", run)
	without := map[enginetest.Ability]string{
		enginetest.OwnRoot:      "commands see this machine's files and processes",
		enginetest.ReadOnlyRoot: "commands write wherever their user can",
		enginetest.HostMounts:   "a mount needs a root of its own",
		enginetest.OwnNetwork:   "it has this machine's network",
		enginetest.MemoryLimit:  "it has no cgroup",
		enginetest.PidsLimit:    "the kernel would count all processes of the user",
	}
	if os.Getuid() != 0 {
		without[enginetest.ManyIDs] = "only root can become another user"
	}
	enginetest.Run(t, enginetest.Config{
		New: func(t testing.TB) (sandbox.Engine, string) {
			e, err := newEngine()
			if err != nil {
				t.Fatal(err)
			}
			return e, openDir(t)
		},
		Without: without,
		Place:   place,
		Traces: func(t testing.TB, home string, ids []sandbox.Identity) []string {
			return traces(t, filepath.Join(run, "hermes"), ids)
		},
	})
}

// openDir is a directory that other users can walk through.
func openDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hermes-local-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// own is the directory of a sandbox's home and workspace.
func own(id sandbox.Identity, spec sandbox.Spec) string {
	id = id.Normal()
	dir := filepath.Join(id.Home, "sandboxes", "local", id.Name())
	if spec.Ephemeral {
		dir = filepath.Join(dir, "scratch")
	}
	return dir
}

// place is where a sandbox has what the suite names.
func place(id sandbox.Identity, spec sandbox.Spec, name string) string {
	switch name {
	case sandbox.Home:
		name = "home"
	case sandbox.Workspace:
		name = "workspace"
	}
	return filepath.Join(own(id, spec), name)
}
