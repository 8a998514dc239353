package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Environment of processes that a test starts from its own binary.
const (
	roleVariable = "HERMES_FAULTS_ROLE" // what the process does instead of testing
	asVariable   = "HERMES_FAULTS_AS"   // which user the tests run as
	baseVariable = "HERMES_FAULTS_BASE" // where programs and scratch space are
)

// roles are what this binary does when a test starts it as something else.
var roles = map[string]func() error{
	"caller":   callerRole,
	"ensure":   ensureRole,
	"starving": starvingRole,
	"starter":  starterRole,
	"forker":   forkerRole,
}

// base holds programs in bin and scratch space for tests.
var base string

func TestMain(m *testing.M) {
	if name := os.Getenv(roleVariable); name != "" {
		role, ok := roles[name]
		if !ok {
			fmt.Fprintf(os.Stderr, "no role %q\n", name)
			os.Exit(2)
		}
		if err := role(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if base = os.Getenv(baseVariable); base != "" {
		return m.Run() // a user's run: its parent made everything
	}
	var err error
	if base, err = os.MkdirTemp("", "hermes-faults-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(base)
	defer removeUsers()
	for _, dir := range []string{base, filepath.Join(base, "bin")} {
		os.Mkdir(dir, 0o755)
		os.Chmod(dir, 0o755)
	}
	return m.Run()
}

var building sync.Mutex

// program returns the path of one of the programs below this directory.
func program(t testing.TB, name string) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	path := filepath.Join(base, "bin", name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path, "./"+name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build %s: %v\n%s", name, err, out)
	}
	return path
}

// self returns a copy of this binary that every user can execute.
func self(t testing.TB) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	path := filepath.Join(base, "bin", "faults.test")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(me)
	if err == nil {
		err = os.WriteFile(path, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// soak says that the long sizes are wanted.
func soak() bool { return os.Getenv("HERMES_SOAK") == "1" }

// size is small normally, large in a soak, and whatever the variable says otherwise.
func size(t testing.TB, variable string, small, large int) int {
	t.Helper()
	if text := os.Getenv(variable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s=%q is not a number", variable, text)
		}
		return n
	}
	if soak() {
		return large
	}
	return small
}

// random returns a source whose seed is printed, and is taken back from HERMES_SEED.
func random(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("HERMES_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("HERMES_SEED=%q is not a seed", text)
		}
		seed = n
	}
	t.Logf("HERMES_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
