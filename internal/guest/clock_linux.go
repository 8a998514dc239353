package guest

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// bootTime is a clock that also runs while the machine sleeps: a command's
// timeout and a sandbox's idle time are promises about the world's time.
func bootTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// alarm is a timer on the same clock.
type alarm struct {
	C    chan struct{}
	file *os.File
}

// newAlarm makes one that fires once, after d from now. A d of zero or less never
// fires. Somebody has to wait on it.
func newAlarm(d time.Duration) (*alarm, error) {
	if d <= 0 {
		return &alarm{}, nil
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	file := os.NewFile(uintptr(fd), "alarm")
	if err := unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil); err != nil {
		file.Close()
		return nil, os.NewSyscallError("timerfd_settime", err)
	}
	return &alarm{make(chan struct{}), file}, nil
}

// wait closes C when the time has come, and returns when the alarm has ended.
func (a *alarm) wait() {
	var buf [8]byte
	if a.file == nil {
		return
	}
	if _, err := a.file.Read(buf[:]); err == nil {
		close(a.C)
	}
}

// stop ends the timer; C is then never closed if it was not yet.
func (a *alarm) stop() {
	if a.file != nil {
		a.file.Close()
	}
}
