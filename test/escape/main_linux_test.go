package escape

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// attackVariable makes this binary an attacker instead of a test: its value is a
// JSON description of what to attack.
const attackVariable = "HERMES_ESCAPE_ATTACK"

func TestMain(m *testing.M) {
	if text := os.Getenv(attackVariable); text != "" {
		if err := attackRole(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// attackRole attacks as whoever runs this process, and prints what came of it.
func attackRole(text string) error {
	var a attack
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return err
	}
	found, err := a.run()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}

// attackers are what the attacks need, where every user can execute them.
type attackers struct{ Attempt, Setuid, FileCaps, Self string }

func build(t *testing.T, dir string) attackers {
	t.Helper()
	p := attackers{filepath.Join(dir, "attempt"), filepath.Join(dir, "setuid"), filepath.Join(dir, "filecaps"), filepath.Join(dir, "escape.test")}
	// It lies far from where programs usually do, so that it can have code where the
	// guest has its own.
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -T 0x40000000", "-o", p.Attempt, "./attempt")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build the attempts: %v\n%s", err, out)
	}
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for to, from := range map[string]string{p.Setuid: p.Attempt, p.FileCaps: p.Attempt, p.Self: me} {
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, content, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return p
}
