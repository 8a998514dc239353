package s6

import (
	"os"
	"os/exec"
	"testing"
)

// inside is set for the tests once they are in a PID namespace of their own.
const inside = "HERMES_TEST_PID_NAMESPACE"

// TestMain runs the tests in a PID namespace, where that can be had: a supervisor that a test lost ends with them,
// and a signal that goes too far goes no further.
func TestMain(m *testing.M) {
	if os.Geteuid() != 0 || os.Getenv(inside) != "" {
		os.Exit(m.Run())
	}
	args := append([]string{"--pid", "--fork", "--mount-proc", "--kill-child", os.Args[0]}, os.Args[1:]...)
	cmd := exec.Command("unshare", args...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		os.Stderr.WriteString("cannot make a PID namespace for the tests: " + err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}
