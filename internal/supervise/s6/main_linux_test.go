package s6

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// inside is set for the tests once they are in a PID namespace of their own.
const inside = "HERMES_TEST_PID_NAMESPACE"

// asProgram makes the test binary a program for a machine that a test boots: its words are a command line.
const asProgram = "HERMES_TEST_S6"

// TestMain runs the tests in a PID namespace, where that can be had: a supervisor that a test lost ends with them,
// and a signal that goes too far goes no further.
func TestMain(m *testing.M) {
	if words := os.Getenv(asProgram); words != "" {
		os.Exit(program(strings.Fields(words)))
	}
	if os.Geteuid() != 0 || os.Getenv(inside) != "" {
		os.Exit(m.Run())
	}
	// The shell is there to reap what has lost its parent.
	args := append([]string{"--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", `"$@"; exit $?`, "init"}, os.Args...)
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
