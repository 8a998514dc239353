package native_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/internal/image/hostimage"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
	"hermes.example/hermes/sandbox/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m, newEngine) }

func newEngine() (sandbox.Engine, error) { return native.New(native.Options{}) }

// idsVariable tells a test that runs as a made user which ids it should have.
const idsVariable = "HERMES_NATIVE_TEST_IDS"

// TestNative runs the suite as whoever runs the tests.
func TestNative(t *testing.T) { runSuite(t, sandbox.Spec{}, without(t)) }

// TestNativeOnImage runs it in sandboxes whose root is an image.
func TestNativeOnImage(t *testing.T) {
	programs, err := hostimage.FromHost(hostimage.Programs...)
	if err != nil {
		t.Fatal(err)
	}
	image, err := hostimage.Write(filepath.Join(t.TempDir(), "image"), hostimage.Config{}, programs, hostimage.Base())
	if err != nil {
		t.Fatal(err)
	}
	lacks := without(t)
	lacks[enginetest.ReadOnlyRoot] = "an image's root is the sandbox's own"
	runSuite(t, sandbox.Spec{Image: image, Cwd: sandbox.Workspace}, lacks)
}

func runSuite(t *testing.T, spec sandbox.Spec, lacks map[enginetest.Ability]string) {
	t.Helper()
	// Sockets and locks of the tests are theirs alone, so that what they leave
	// can be told from what others have.
	run := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", run)
	enginetest.Run(t, enginetest.Config{
		New: func(t testing.TB) (sandbox.Engine, string) {
			e, err := newEngine()
			if err != nil {
				t.Fatal(err)
			}
			return e, t.TempDir()
		},
		Spec:    spec,
		Without: lacks,
		Traces: func(t testing.TB, home string, ids []sandbox.Identity) []string {
			return traces(t, filepath.Join(run, "hermes"), home, ids)
		},
	})
}

// without asks a sandbox for what this user cannot have on this machine. What
// the posture claims, the suite then holds it to.
func without(t *testing.T) map[enginetest.Ability]string {
	t.Helper()
	e, err := newEngine()
	if err != nil {
		t.Fatal(err)
	}
	m := sandbox.NewManager(e, sandbox.Options{NoSweep: true})
	defer m.Close()
	box, err := m.Ensure(t.Context(), sandbox.Identity{Home: t.TempDir()}, sandbox.Spec{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	posture, err := box.Posture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lacks := make(map[enginetest.Ability]string)
	abilities := map[string]enginetest.Ability{
		sandbox.FactIDs: enginetest.ManyIDs, sandbox.FactMemory: enginetest.MemoryLimit, sandbox.FactPids: enginetest.PidsLimit,
	}
	for _, f := range posture.Facts {
		if ability, ok := abilities[f.Name]; ok && !f.Enforced {
			lacks[ability] = f.Deviation
		}
		if f.Name == sandbox.FactIDs {
			checkIDs(t, f.Value)
		}
	}
	if why, lacking := lacks[enginetest.MemoryLimit]; lacking && mayLimit() {
		t.Errorf("root may write the cgroups here, and memory is not limited: %s", why)
	}
	return lacks
}

func checkIDs(t *testing.T, value string) {
	t.Helper()
	want := os.Getenv(idsVariable)
	if os.Getuid() == 0 {
		want = "range"
	}
	if !strings.HasPrefix(value, want) {
		t.Errorf("the ids are %q, not %s", value, want)
	}
}

// mayLimit says whether memory could be limited here, by another way than the
// engine's own.
func mayLimit() bool {
	if os.Getuid() != 0 {
		return false
	}
	for _, dir := range []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup"} {
		probe := filepath.Join(dir, "hermes-may-limit")
		if os.Mkdir(probe, 0o755) == nil {
			_, v1 := os.Stat(filepath.Join(probe, "memory.limit_in_bytes"))
			_, v2 := os.Stat(filepath.Join(probe, "memory.max"))
			os.Remove(probe)
			if v1 == nil || v2 == nil {
				return true
			}
		}
	}
	return false
}
