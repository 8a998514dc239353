package daemon

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// podmanService starts a real Podman's service for the time of the test.
func podmanService(t *testing.T, socket string) string {
	t.Helper()
	program, err := exec.LookPath("podman")
	if err != nil {
		t.Skip("podman is not installed")
	}
	if os.Getuid() != 0 {
		t.Skip("only root's podman is sure to work here")
	}
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		t.Fatal(err)
	}
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd := exec.Command(program, "system", "service", "--time=60", "unix://"+socket)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() { cmd.Process.Kill(); <-ended })
	for deadline := time.After(30 * time.Second); ; {
		if conn, err := net.Dial("unix", socket); err == nil {
			conn.Close()
			return socket
		}
		select {
		case <-ended:
			why, _ := os.ReadFile(said.Name())
			t.Skipf("podman's service does not work here: %s", why)
		case <-deadline:
			t.Fatal("podman's service does not come up")
		case <-time.After(20 * time.Millisecond):
		}
	}
}
