package initd

import (
	"os"
	"os/signal"
	"syscall"
)

// The real-time signals that programs may use; below are the thread libraries' own.
const firstRealTime, lastRealTime = 34, 64

// watch returns the signals that a container is sent from outside and that its main program has to get: every one
// that a program can be asked something with. Those that the kernel sends about ourselves are not among them.
func watch() chan os.Signal {
	signals := []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGALRM, syscall.SIGCONT, syscall.SIGTSTP, syscall.SIGWINCH, syscall.SIGPWR}
	for n := firstRealTime; n <= lastRealTime; n++ {
		signals = append(signals, syscall.Signal(n))
	}
	// Room for a burst: what does not fit is lost, as the kernel loses signals that are pending already.
	c := make(chan os.Signal, len(signals))
	signal.Notify(c, signals...)
	// Whoever reads the container's output may go away. The signal for that would end us; ignored, it would be ignored
	// by every child too. Caught and dropped, it is an error of the write, and a child begins with the default.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return c
}
