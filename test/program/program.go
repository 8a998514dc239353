// Package program builds the program as it is now, for tests that call it as people do.
package program

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

// Missing says why the program would be of no use: what it carries is not built. Empty is nothing. It is for tests two
// directories below the top.
func Missing() string {
	guest := filepath.Join("..", "..", "internal", "programs", "bin", "hermes-guest-linux-"+runtime.GOARCH)
	if _, err := os.Stat(guest); err != nil {
		return "the guest is not built: run make guest"
	}
	return ""
}

// Build puts hermes into a directory of its own, where everybody may run it, until remove is called.
func Build() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "hermes-test-*")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	build := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-o", filepath.Join(dir, "hermes"), "hermes.example/hermes/cmd/hermes")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("cannot build hermes: %w\n%s", err, out)
	} else {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

// FreePort is one of loopback on which nobody listens now. The kernel gives it to nobody who asks for any, such as another
// test does before this one listens on it.
func FreePort(t testing.TB) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(20_000 + rand.IntN(12_000)) // any are from 32768 on
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("cannot find a free port")
	return ""
}
