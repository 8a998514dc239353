package boot

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/test/machine"
)

// A boot of a blank volume that is cut off anywhere leaves nothing that the next one trips over.
func TestAPowerCutDuringTheFirstBoot(t *testing.T) {
	rounds := 20
	if os.Getenv("HERMES_SOAK") != "" {
		rounds = 300
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	use := machine.Boot{Argv: []string{"/init", "sh", "-c", "hermes service ls && echo main up"}}
	whole := image(t)
	r := whole.Start(use)
	began := firstStep(t, r)
	r.Eventually("the last step is done", func() bool { return strings.Contains(r.Output(), `step="foreign services"`) || r.Ended() })
	length := time.Since(began)
	if code := r.Wait(bound); code != 0 {
		t.Fatalf("it ended with %d: %s", code, r.Output())
	}
	steps := map[string]int{}
	for range rounds {
		m := image(t)
		r := m.Start(use)
		firstStep(t, r)
		time.Sleep(time.Duration(random.Int64N(int64(length)))) // the moment is what is tested
		r.Signal(syscall.SIGKILL)
		r.Wait(bound)
		last := lastStep(r.Output())
		steps[last]++
		next := m.Start(use)
		if code := next.Wait(bound); code != 0 || strings.Contains(next.Output(), "level=WARN") || strings.Contains(next.Output(), "level=ERROR") {
			t.Errorf("after %q the next boot ended with %d: %s", last, code, next.Output())
		}
		if variables := readFile(t, m, "/opt/data/.env"); strings.Count(variables, "API_SERVER_KEY=") != 1 {
			t.Errorf("after %q there is not one key", last)
		}
		if got, want := names(t, m), names(t, whole); !slices.Equal(got, want) {
			t.Errorf("after %q the volume has %q, without a cut %q", last, got, want)
		}
	}
	t.Logf("the last steps were %v", steps)
}

// firstStep waits for the boot's first word, and returns when that was.
func firstStep(t *testing.T, r *machine.Running) time.Time {
	t.Helper()
	for end := time.Now().Add(bound); !strings.Contains(r.Output(), "msg=boot"); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) || r.Ended() {
			t.Fatalf("it does not boot: %s", r.Output())
		}
	}
	return time.Now()
}

// lastStep is what a boot had done when it was cut off.
func lastStep(output string) string {
	i := strings.LastIndex(output, "msg=boot step=")
	if i < 0 {
		return "none"
	}
	step, _, _ := strings.Cut(output[i+len("msg=boot step="):], " at=")
	return step
}

// names are all files of a volume.
func names(t *testing.T, m *machine.Machine) (found []string) {
	t.Helper()
	err := filepath.WalkDir(m.Path("/opt/data"), func(path string, _ fs.DirEntry, err error) error {
		found = append(found, strings.TrimPrefix(path, m.Root))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
