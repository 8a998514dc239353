package guest

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/spawn"
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
	uid, ok := realUser(first)
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
		if uid, ok := realUser(p.PID); ok && !told[uid] {
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

// killAs sends a signal on a thread that has another real user. Its other ids stay, so
// that nobody gains a right over us by it but that to send it signals, which PID 1
// need not heed.
func killAs(uid, pid int, sig syscall.Signal) error {
	sent := make(chan error)
	go spawn.OnOwnThread(func() {
		keep := ^uintptr(0)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), keep, keep); errno != 0 {
			sent <- errno
			return
		}
		// Where fs.suid_dumpable is 1 the kernel has just opened our memory.
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
		sent <- unix.Kill(pid, sig)
	})
	return <-sent
}

// realUser is who a process belongs to for those who want to signal it.
func realUser(pid int) (uid int, ok bool) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(status) {
		if rest, is := bytes.CutPrefix(line, []byte("Uid:")); is {
			uid, err = strconv.Atoi(string(bytes.Fields(rest)[0]))
			return uid, err == nil
		}
	}
	return 0, false
}
