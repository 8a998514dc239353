// Package boot tests the container's entrypoint as an image has it: hermes-init and hermes built once, booted as PID 1
// of a machine of namespaces, by all of their names.
package boot

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/entry"
	"hermes.example/hermes/test/machine"
)

// bound is how long a boot with a short command may take before it counts as a hang.
const bound = 60 * time.Second

// hermes is the service user, as the machine's files have it.
const hermes = "10000:10000"

var built string // the directory with both programs

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "hermes-boot-*")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"hermes", "hermes-init", "hermes-shim"} {
		build := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-o", filepath.Join(dir, name), "hermes.example/hermes/cmd/"+name)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Printf("cannot build %s: %v\n%s", name, err, out)
			return 1
		}
	}
	built = dir
	return m.Run()
}

// image is a machine with what an image has.
func image(t *testing.T) *machine.Machine {
	t.Helper()
	m := machine.New(t)
	m.Binds = append(m.Binds,
		[2]string{filepath.Join(built, "hermes"), entry.Program + ":ro"},
		[2]string{filepath.Join(built, "hermes-init"), entry.Init + ":ro"},
		[2]string{filepath.Join(built, "hermes-shim"), entry.Shim + ":ro"})
	for _, link := range entry.Links {
		if strings.HasPrefix(link.Name, "/usr/") {
			continue // the host's, and not ours to write: a test that wants the name has it elsewhere
		}
		name(t, m, link)
	}
	return m
}

// name gives a program one more name.
func name(t *testing.T, m *machine.Machine, link entry.Link) {
	t.Helper()
	m.Dir(filepath.Dir(link.Name), 0o755)
	if err := os.Symlink(link.To, m.Path(link.Name)); err != nil {
		t.Fatal(err)
	}
}

// run boots an image with a command and returns what it said and its status.
func run(t *testing.T, b machine.Boot) (output string, code int) {
	t.Helper()
	r := image(t).Start(b)
	code = r.Wait(bound)
	return r.Output(), code
}

// booted is an image's machine that stays up until the test ends.
func booted(t *testing.T, m *machine.Machine, b machine.Boot) *machine.Running {
	t.Helper()
	if b.Argv == nil {
		b.Argv = []string{"/init", "sleep", "infinity"}
	}
	r := m.Start(b)
	r.Eventually("the main program runs", func() bool {
		_, code := r.Exec("", "sh", "-c", "ps -eo ppid=,comm= | grep -q '^ *1 sleep$'")
		return code == 0 || r.Ended()
	})
	return r
}
