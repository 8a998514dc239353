// Package reaper owns wait4: in a process that has a Reaper nothing else may wait for a child, or two would fight
// over one status. So nothing linked into such a program may use os/exec.
//
// hermes-init makes one, for its services and its main program alike, and reaps with it whatever else becomes its
// child, as every orphan of a container does.
package reaper

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Reaper reaps. Its life: New makes it and begins to reap, Start starts what somebody waits for, Close ends it.
//
// Locking rule: a process is started and registered under mu, and reaped under mu, so that an end is never seen
// before its registration, and no number is signalled that may belong to another by now.
type Reaper struct {
	mu      sync.Mutex
	waiting map[int]chan<- syscall.WaitStatus
	stop    chan struct{}
	stopped chan struct{}
}

// New makes a reaper and begins to reap.
func New() *Reaper {
	r := &Reaper{waiting: make(map[int]chan<- syscall.WaitStatus), stop: make(chan struct{}), stopped: make(chan struct{})}
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	go r.run(children)
	return r
}

// Subreaper makes orphans below this process its children, as they are PID 1's anyway.
func Subreaper() error {
	if os.Getpid() == 1 {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	return nil
}

// Start calls start, which forks and returns the child's number, and registers the child. How the child ended is
// sent once on the channel. A start that fails has waited for its own child, if it made one, as syscall.ForkExec
// does; nobody else can have, because the lock is held.
func (r *Reaper) Start(start func() (pid int, err error)) (int, <-chan syscall.WaitStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer guard()()
	pid, err := start()
	if err != nil {
		return 0, nil, err
	}
	ended := make(chan syscall.WaitStatus, 1)
	r.waiting[pid] = ended
	return pid, ended, nil
}

// Signal signals a process that Start started and that was not reaped yet: until then nobody else can have its
// number. For one that has ended there is nothing to do.
func (r *Reaper) Signal(pid int, send func(pid int) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.waiting[pid]; !ok {
		return nil
	}
	return send(pid)
}

// Close ends the reaping. What still runs is nobody's to wait for then.
func (r *Reaper) Close() {
	close(r.stop)
	<-r.stopped
}

func (r *Reaper) run(children chan os.Signal) {
	defer close(r.stopped)
	defer signal.Stop(children)
	for {
		for r.reap() {
		}
		select {
		case <-children:
		case <-r.stop:
			return
		}
	}
}

// reap waits for one child that has ended and tells who waits for it. It says whether there was one.
func (r *Reaper) reap() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|unix.WALL, nil)
	if err == syscall.EINTR {
		return true
	}
	if pid <= 0 {
		return false
	}
	if ended, ok := r.waiting[pid]; ok && !status.Stopped() {
		delete(r.waiting, pid)
		ended <- status
	}
	return true
}
