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
