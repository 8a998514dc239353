package spawn

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Process is a command that was started and not yet waited for.
type Process struct {
	PID int
	// PIDFD becomes readable when it ends. It is the caller's to close.
	PIDFD int
}

// Ended returns when the process has ended, and closes its descriptor. It waits
// in the poller and so holds no thread. The process is then still to be reaped.
func (p Process) Ended() error {
	unix.SetNonblock(p.PIDFD, true)
	file := os.NewFile(uintptr(p.PIDFD), "pidfd")
	defer file.Close()
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
}

// Kill ends the process, and no other that has got its number since.
func (p Process) Kill() error {
	if err := unix.PidfdSendSignal(p.PIDFD, unix.SIGKILL, nil, 0); err != nil && err != unix.ESRCH {
		return os.NewSyscallError("pidfd_send_signal", err)
	}
	return nil
}

// Wait waits for the process and reaps it, in a process that has no reaper.
func (p Process) Wait() error {
	err := p.Ended()
	for {
		_, waitErr := syscall.Wait4(p.PID, nil, 0, nil)
		if waitErr == syscall.EINTR {
			continue
		}
		if waitErr != nil && waitErr != syscall.ECHILD {
			err = errors.Join(err, os.NewSyscallError("wait4", waitErr))
		}
		return err
	}
}
