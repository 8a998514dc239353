package install

import (
	"io/fs"
	"os/exec"
	"runtime"
	"syscall"
)

// runTree runs a command in a session of its own, so that it has no terminal to ask anything on, and ends all of that
// session's first group with it. The kernel kills it when we are killed.
func runTree(cmd *exec.Cmd) error {
	runtime.LockOSThread() // the signal comes when this thread ends, which must not be earlier
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd.Run()
}

// names is how many names a file has.
func names(info fs.FileInfo) uint64 { return uint64(info.Sys().(*syscall.Stat_t).Nlink) }
