package guest

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/ownthread"
	"hermes.example/hermes/internal/proc"
)

// kill sends a signal to a process, or with a negative number to a process group.
// Where we have not the right to signal other users' processes, but that to become
// any user, a thread that has become the process's own sends it.
func kill(pid int, sig syscall.Signal) error {
	err := unix.Kill(pid, sig)
	if err != unix.EPERM {
		return err
	}
	first := pid
	if pid < 0 {
		first = -pid
	}
	uid, ok := proc.RealUser(first)
	if !ok {
		return err
	}
	return killAs(uid, pid, sig)
}

// killEverybody sends a signal to every process but us.
func killEverybody(sig syscall.Signal) {
	unix.Kill(-1, sig)
	if mayKillAll() {
		return
	}
	told := map[int]bool{os.Getuid(): true}
	for _, p := range proc.All() {
		if uid, ok := proc.RealUser(p.PID); ok && !told[uid] {
			told[uid] = true
			killAs(uid, -1, sig)
		}
	}
}

// mayKillAll says whether we have the right to signal any process.
func mayKillAll() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	return unix.Capget(&header, &have[0]) == nil && have[0].Effective&(1<<unix.CAP_KILL) != 0
}

// killAs sends a signal as another user.
func killAs(uid, pid int, sig syscall.Signal) error {
	return ownthread.As(uid, func() error { return unix.Kill(pid, sig) })
}
