package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/supervise"
)

func TestTheStatusOfASupervisedHome(t *testing.T) {
	b := newBoard("gateway-default", "gateway-coder", "idle")
	b.statuses["gateway-default"] = supervise.Status{Name: "gateway-default", Want: "up", State: supervise.Ready, PID: 7, Since: time.Now()}
	b.statuses["gateway-coder"] = supervise.Status{Name: "gateway-coder", Want: "up", State: supervise.Parked, Reason: "exit 78", Since: time.Now()}
	b.statuses["dashboard"] = supervise.Status{Name: "dashboard", Want: "up", State: supervise.Ready, PID: 9, Since: time.Now()}
	run, root := supervisedApp(t, b)
	coder := filepath.Join(root, "profiles", "coder")
	if err := os.MkdirAll(coder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(coder, "SOUL.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, status := run()
	for _, want := range []string{"profile    coder: gateway down 0s, parked: exit 78\nprofile    default: gateway up (pid 7) 0s\n", "service    dashboard: up (pid 9) 0s\n", "hermes -p coder gateway logs"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
	if status != 0 || strings.Contains(out, "idle") {
		t.Errorf("status %d, with what nobody wants:\n%s", status, out)
	}
	b.fail["services"] = os.ErrDeadlineExceeded
	if out, _, status := run(); status != 0 || !strings.Contains(out, "default: gateway up (pid 7)") {
		t.Errorf("after an error status %d:\n%s", status, out)
	}
}
