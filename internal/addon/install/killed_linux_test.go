package install

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/internal/proc"
	"hermes.example/hermes/test/wheels"
)

func runCommand(program string, args ...string) (string, error) {
	out, err := exec.Command(program, args...).CombinedOutput()
	return string(out), err
}

// childrenOf are the processes that an installer started: those whose temporary files are in its cache.
func childrenOf(i Installer) []proc.Process {
	var all []proc.Process
	for _, p := range proc.All() {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/environ")
		if err == nil && bytes.Contains(env, []byte("TMPDIR="+i.Cache)) && !p.Zombie {
			all = append(all, p)
		}
	}
	return all
}

func commandLine(p proc.Process) string {
	line, _ := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/cmdline") // nothing, if it is gone
	return string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
}

const (
	helperVariable = "HERMES_TEST_INSTALL"
	treeVariable   = "HERMES_TEST_INSTALL_TREE"
	helperSeparate = "\x1f"
)

// TestMain is also the process that is killed: it installs as one of the variables says.
func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(helperVariable); ok {
		arguments := strings.Split(text, helperSeparate)
		i := Installer{Runtime: &sealed.Runtime{Root: arguments[0]}, Cache: arguments[1], Environ: []string{"UV_DEFAULT_INDEX=" + arguments[2]}}
		if err := i.Install(context.Background(), locked(sample()...), arguments[3]); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if text, ok := os.LookupEnv(treeVariable); ok {
		arguments := strings.Split(text, helperSeparate)
		i := Installer{Runtime: &sealed.Runtime{}, Cache: arguments[0], Environ: arguments[2:]}
		if err := i.InstallTree(context.Background(), serverTree(), serverSpec, arguments[1]); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Whoever kills us kills the installer: it must not go on writing beside the next one.
func TestAKilledInstallationLeavesNothingRunning(t *testing.T) {
	r := withUV(t)
	x := wheels.Serve(t, sample()...)
	x.Break("*", wheels.Fault{Silent: true})
	i := installer(t, r, x.URL)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = []string{helperVariable + "=" + strings.Join([]string{r.Root, i.Cache, x.URL, target(t)}, helperSeparate)}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return x.Requests() > 0 && len(childrenOf(i)) > 0 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	waitFor(t, func() bool { return len(childrenOf(i)) == 0 })
	x.Break("*", wheels.Fault{})
	if err := install(t, i, locked(sample()...), target(t)); err != nil {
		t.Error(err)
	}
}

// waitFor waits until something is so.
func waitFor(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(bound); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen")
		}
	}
}
