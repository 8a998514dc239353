package layers

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The module as it is, on every platform that it is built for.
func TestImportsPointDownwardsOnly(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		pkgs := list(t, goos)
		if len(pkgs) < 5 {
			t.Fatalf("%s: go list knows only %d packages", goos, len(pkgs))
		}
		for _, v := range Violations(pkgs) {
			t.Errorf("%s: %s", goos, v)
		}
	}
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"cmd/hermes", "internal/cli", true},
		{"internal/cli", "internal/gateway", true},
		{"internal/cli", "sandbox/engine/native", true},
		{"internal/gateway", "sandbox", true},
		{"internal/gateway", "internal/dashboard", false},
		{"internal/dashboard/house", "internal/gateway/api", true},
		{"internal/dashboard/house", "internal/survey", true},
		{"internal/survey", "internal/gateway/api", false},
		{"internal/gateway/api", "internal/survey", true},
		{"internal/cli", "internal/doctor", true},
		{"internal/doctor", "sandbox/engine/native", true},
		{"internal/doctor", "internal/bench", false},
		{"sandbox/engine/native", "internal/doctor", false},
		{"sandbox", "internal/wire", true},
		{"sandbox", "internal/config", true},
		{"sandbox", "internal/cli", false},
		{"sandbox", "sandbox/engine/native", false},
		{"sandbox", "internal/gateway", false},
		{"sandbox/engine/native", "sandbox", true},
		{"sandbox/engine/native", "sandbox/engine/native/ids", true},
		{"sandbox/engine/native", "sandbox/engine/docker", false},
		{"sandbox/engine/native", "sandbox/engine/internal/host", true},
		{"sandbox/engine/internal/host", "sandbox/engine/native", false},
		{"sandbox/engine/internal/host", "sandbox", true},
		{"sandbox", "sandbox/engine/internal/host", false},
		{"sandbox/engine/native", "sandbox/enginetest", false},
		{"sandbox/enginetest", "sandbox", true},
		{"internal/supervise/drivertest", "internal/roster", true},
		{"internal/supervise/s6", "internal/roster", false},
		{"internal/supervise/s6", "internal/supervise", true},
		{"internal/roster", "internal/supervise/s6", true},
		{"internal/cli", "internal/supervise/drivertest", false},
		{"internal/tartree", "internal/treetest", false},
		{"internal/guest", "internal/wire", true},
		{"internal/guest/spawn", "internal/guest", true},
		{"internal/guest", "sandbox", false},
		{"internal/wire", "internal/guest", false},
		{"internal/config", "internal/atomicfile", true},
		{"internal/config", "sandbox", false},
		{"internal/brand-new", "internal/cli", false},
		{"cmd/hermes-guest", "internal/guest", true},
		{"cmd/hermes-guest", "internal/cli", false},
		{"internal/cli", "cmd/hermes", false},
		{"internal/seccomp", "internal/seccomp/gen", true},
		{"sandbox/engine/native", "internal/image", true},
		{"internal/image", "internal/image/unpack", true},
		{"internal/image", "sandbox", false},
		{"cmd/hermes-init", "internal/initd", true},
		{"internal/initd", "internal/boot", true},
		{"internal/initd", "internal/roster", true},
		{"internal/boot", "internal/initd", false},
		{"internal/mainprog", "internal/supervise/reaper", true},
		{"internal/initd", "internal/cli", false},
		{"test/e2e", "internal/cli", true},
		{"internal/addon/backend", "sandbox", true},
		{"internal/addon/backend", "internal/addon", true},
		{"internal/addon/backend", "sandbox/engine/local", false},
		{"internal/addon", "internal/addon/backend", false},
		{"internal/gateway", "internal/addon/backend", true},
	} {
		bad := Violations([]Package{{ImportPath: module + c.from, Imports: []string{module + c.to}}})
		if (len(bad) == 0) != c.allowed {
			t.Errorf("%s → %s: allowed should be %v, found %v", c.from, c.to, c.allowed, bad)
		}
	}
}

func TestNobodyWaitsBesideTheReaper(t *testing.T) {
	for from, allowed := range map[string]bool{"cmd/hermes-init": false, "internal/supervise": false, "internal/boot": false, "internal/supervise/s6": true, "internal/cli": true} {
		if bad := Violations([]Package{{ImportPath: module + from, Deps: []string{"os", "os/exec"}}}); (len(bad) == 0) != allowed {
			t.Errorf("%s: allowed should be %v, found %v", from, allowed, bad)
		}
	}
}

func TestForeignModulesHaveTheirHomes(t *testing.T) {
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"internal/cli", "github.com/spf13/cobra", true},
		{"sandbox", "github.com/spf13/cobra", false},
		{"internal/seccomp", "github.com/moby/profiles/seccomp", false},
		{"internal/seccomp", "github.com/elastic/go-seccomp-bpf", false},
		{"internal/seccomp/gen", "github.com/elastic/go-seccomp-bpf/arch", true},
		{"internal/image", "github.com/google/go-containerregistry/pkg/v1", true},
		{"sandbox/engine/native", "github.com/google/go-containerregistry/pkg/v1", false},
		{"internal/image/packed", "github.com/klauspost/compress/zstd", true},
		{"internal/wire", "github.com/klauspost/compress/zstd", false},
		{"internal/daemon", "github.com/moby/moby/client", true},
		{"sandbox/engine/docker", "github.com/moby/moby/api/types/container", true},
		{"test/containers", "github.com/moby/moby/client", true},
		{"internal/doctor", "github.com/moby/moby/client", false},
		{"internal/guest", "golang.org/x/sys/unix", true},
		{"internal/dashboard", "golang.org/x/crypto/scrypt", true},
		{"internal/gateway", "golang.org/x/crypto/scrypt", false},
		{"internal/addon/backend", "github.com/modelcontextprotocol/go-sdk/mcp", true},
		{"internal/cli", "github.com/modelcontextprotocol/go-sdk/mcp", false},
	} {
		bad := Violations([]Package{{ImportPath: module + c.from, Imports: []string{c.to}}})
		if (len(bad) == 0) != c.allowed {
			t.Errorf("%s → %s: allowed should be %v, found %v", c.from, c.to, c.allowed, bad)
		}
	}
	for _, heavy := range []string{"github.com/spf13/cobra", "github.com/moby/moby/client", "k8s.io/client-go/rest",
		"github.com/google/go-containerregistry/pkg/v1", "github.com/modelcontextprotocol/go-sdk/mcp"} {
		for _, from := range []string{"cmd/hermes-guest", "cmd/hermes-init", "internal/guest/spawn", "internal/wire", "client", "sandbox"} {
			if len(Violations([]Package{{ImportPath: module + from, Deps: []string{heavy}}})) == 0 {
				t.Errorf("%s may draw in %s", from, heavy)
			}
		}
	}
}

func list(t *testing.T, goos string) []Package {
	t.Helper()
	cmd := exec.Command("go", "list", "-buildvcs=false", "-e", "-json=ImportPath,Imports,Deps", module+"...")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list for %s: %v\n%s", goos, err, stderr.String())
	}
	var pkgs []Package
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p Package
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return pkgs
		case err != nil:
			t.Fatalf("go list for %s: %v", goos, err)
		}
		pkgs = append(pkgs, p)
	}
}
