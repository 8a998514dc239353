package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const units = "image/systemd/"

func TestSystemdTakesTheUnits(t *testing.T) {
	const program = "/usr/local/bin/hermes"
	common := []string{"RestartPreventExitStatus=78", "User=hermes", "NoNewPrivileges=yes", "ProtectSystem=strict"}
	for name, lines := range map[string][]string{
		"hermes-gateway@.service": {"ExecStart=" + program + " -p %i gateway run --no-supervise", "RestartForceExitStatus=75"},
		"hermes.service":          {"ExecStart=" + program + " up --verbose", "Type=notify", "KillMode=mixed"},
	} {
		t.Run(name, func(t *testing.T) {
			unit := read(t, units+name)
			for _, line := range append(lines, common...) {
				if !strings.Contains(unit, "\n"+line+"\n") {
					t.Errorf("it lacks %s", line)
				}
			}
			analyze, err := exec.LookPath("systemd-analyze")
			if err != nil {
				t.Skip("there is no systemd-analyze")
			}
			// It wants the program to be there.
			file := filepath.Join(t.TempDir(), strings.Replace(name, "@.", "@default.", 1))
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(unit, program, "/bin/true")), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
