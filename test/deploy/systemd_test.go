package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const unitFile = "image/systemd/hermes-gateway@.service"

func TestSystemdTakesTheUnit(t *testing.T) {
	unit := read(t, unitFile)
	const program = "/usr/local/bin/hermes"
	for _, line := range []string{"ExecStart=" + program + " -p %i gateway run --no-supervise", "RestartForceExitStatus=75", "RestartPreventExitStatus=78", "User=hermes", "NoNewPrivileges=yes", "ProtectSystem=strict"} {
		if !strings.Contains(unit, "\n"+line+"\n") {
			t.Errorf("it lacks %s", line)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze")
	}
	// It wants the program to be there.
	file := filepath.Join(t.TempDir(), "hermes-gateway@default.service")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(unit, program, "/bin/true")), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}
