// Package ownthread runs what changes its thread for good, as who that is to the kernel, apart from all else in the
// process.
//
// The guest, the supervisor and the hand that uses files as another user call it.
package ownthread

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// Run runs f on a thread that is f's alone, and ends with it: what a thread
// gave up it cannot get back, so no other goroutine may ever run on it. It is never
// the process's first thread, by which the kernel knows the process.
func Run(f func()) {
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

// As does something as another user, on a thread that has no other way back than to end. Only whom we act as changes,
// and neither whom we belong to nor who we were: by these two the kernel decides whether that user may signal us, and a
// signal to the thread is one to the whole process.
func As(uid int, do func() error) error {
	done := make(chan error)
	go Run(func() {
		const keep = ^uintptr(0)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, keep, uintptr(uid), keep); errno != 0 {
			done <- errno
			return
		}
		// Where fs.suid_dumpable is 1 the kernel has just opened our memory to that user.
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
		done <- do()
	})
	return <-done
}

// Spare has the runtime make threads in advance, which it then keeps for whoever needs one. Where others can take all
// processes that there may be, it would end the program the first time that it gets no new thread.
func Spare(n int) {
	var all sync.WaitGroup
	made := make(chan struct{})
	released := make(chan struct{})
	for range n {
		all.Go(func() {
			runtime.LockOSThread() // so that it takes one for itself
			made <- struct{}{}
			<-released
			runtime.UnlockOSThread()
		})
	}
	for range n {
		<-made
	}
	close(released)
	all.Wait()
}
