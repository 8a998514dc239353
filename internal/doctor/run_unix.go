//go:build unix

package doctor

import (
	"os/exec"
	"syscall"
)

// endWholeTree makes the end of cmd's time the end of all that it started, unless
// that left its process group.
func endWholeTree(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
