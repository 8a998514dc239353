package tree

import (
	"syscall"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/ownthread"
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

// Signal signals a process that cannot have been reaped meanwhile, or with a negative number the group that it leads.
func Signal(pid int, sig syscall.Signal) error {
	return send(max(pid, -pid), func() error { return unix.Kill(pid, sig) })
}

// send sends a signal. Where we have not the right to signal other users' processes, but that to become any user, a
// thread that acts as the process's own sends it.
func send(pid int, do func() error) error {
	err := do()
	if err != unix.EPERM {
		return err
	}
	uid, ok := proc.RealUser(pid)
	if !ok {
		return err
	}
	return ownthread.As(uid, do)
}
