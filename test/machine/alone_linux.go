package machine

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

// alone is the variable by which a test program knows that it is in namespaces of its own.
const alone = "HERMES_TEST_ALONE"

// Alone runs the tests of a package as PID 1 of namespaces of their own, and returns their status for os.Exit. It is
// for tests of what kills processes that it has found: whatever they break, nothing else of the machine can be hit.
// Who is not root can make no such namespaces, and runs them as they are.
func Alone(m *testing.M) int {
	if os.Geteuid() != 0 {
		return m.Run()
	}
	if os.Getenv(alone) != "" {
		if err := ownProc(); err != nil {
			fmt.Fprintln(os.Stderr, "cannot run these tests:", err)
			return 1
		}
		return m.Run()
	}
	runtime.LockOSThread() // the death signal is sent when the thread ends that started it
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), alone+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "cannot run these tests:", err)
		return 1
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	return 1 // a signal
}

// ownProc shows the processes of the namespace, and only those.
func ownProc() error {
	if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
		return os.NewSyscallError("mount", err)
	}
	return os.NewSyscallError("mount", syscall.Mount("proc", "/proc", "proc", 0, ""))
}
