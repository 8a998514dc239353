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
	C    <-chan struct{}
	file *os.File
}

// newAlarm fires once after d. A d of zero or less never fires.
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
	c := make(chan struct{})
	go func() {
		var buf [8]byte
		if _, err := file.Read(buf[:]); err == nil {
			close(c)
		}
	}()
	return &alarm{c, file}, nil
}

// stop ends the timer; C is then never closed if it was not yet.
func (a *alarm) stop() {
	if a.file != nil {
		a.file.Close()
	}
}
