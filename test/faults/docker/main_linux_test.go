package docker

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/docker"
)

// roleVariable makes this program a caller that a test starts, and perhaps kills.
const roleVariable = "HERMES_DOCKER_FAULTS_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		if err := callerRole(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(run(m))
}

// run gives all tests one run directory, where at their end nothing may be left.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "hermes-docker-faults-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_RUNTIME_DIR", dir)
	status := m.Run()
	for _, pattern := range []string{"*-docker", "*.lock"} {
		if left, _ := filepath.Glob(filepath.Join(dir, "hermes", pattern)); len(left) > 0 && status == 0 {
			fmt.Fprintln(os.Stderr, "left behind:", left)
			status = 1
		}
	}
	return status
}

// newEngine is one that speaks to the daemon at the host.
func newEngine(host string, bridge bool) (sandbox.Engine, error) {
	api, err := client.New(client.WithHost(host))
	if err != nil {
		return nil, err
	}
	return docker.New(docker.Options{Client: api, Name: "docker", Arch: runtime.GOARCH, Bridge: bridge})
}

// size is small normally, and large in a soak.
func size(small, large int) int {
	if os.Getenv("HERMES_SOAK") == "1" {
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
