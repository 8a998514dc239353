package spawn

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// OnOwnThread runs f on a thread that is f's alone, and ends with it: what a thread
// gave up it cannot get back, so no other goroutine may ever run on it. It is never
// the process's first thread, by which the kernel knows the process.
func OnOwnThread(f func()) {
	runtime.LockOSThread() // and never unlocked, unless this is the first thread
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	// Holding the first thread here makes another one take our place.
	placed := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(placed)
		f()
	}()
	<-placed
	runtime.UnlockOSThread()
}
