package tree

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/spawn"
	"hermes.example/hermes/internal/proc"
)

// signal signals the process that was seen, and no other that has got its number since.
func signal(p proc.Process, sig syscall.Signal) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := proc.Read(p.PID); ok && now.Started == p.Started {
		_ = send(p.PID, func() error { return unix.PidfdSendSignal(fd, sig, nil, 0) }) // the next look shows what came of it
	}
}

// Signal signals a process that cannot have been reaped meanwhile.
func Signal(pid int, sig syscall.Signal) error {
	return send(pid, func() error { return unix.Kill(pid, sig) })
}

// send sends a signal. Where we have not the right to signal other users' processes, but that to become any user, a
// thread that has become the process's own sends it.
func send(pid int, do func() error) error {
	err := do()
	if err != unix.EPERM {
		return err
	}
	uid, ok := realUser(pid)
	if !ok {
		return err
	}
	sent := make(chan error)
	go spawn.OnOwnThread(func() {
		const keep = ^uintptr(0)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), keep, keep); errno != 0 {
			sent <- errno
			return
		}
		// Where fs.suid_dumpable is 1 the kernel has just opened our memory to that user.
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
		sent <- do()
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
			if fields := bytes.Fields(rest); len(fields) > 0 {
				uid, err = strconv.Atoi(string(fields[0]))
				return uid, err == nil
			}
		}
	}
	return 0, false
}
