package guest

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/spawn"
)

// reaper owns wait4 in the guest: nothing else may wait for a child.
//
// Locking rule: a command is started and registered under mu, and a child is
// reaped under mu, so an exit can never be seen before its registration.
type reaper struct {
	spawner *spawn.Spawner
	marks   *marks // nil where processes cannot be marked

	mu      sync.Mutex
	waiting map[int]chan<- syscall.WaitStatus
}

func newReaper(s *spawn.Spawner) *reaper {
	return &reaper{spawner: s, marks: newMarks(), waiting: make(map[int]chan<- syscall.WaitStatus)}
}

// start starts c. Its status is sent once on the returned channel.
func (r *reaper) start(c *spawn.Command) (int, <-chan syscall.WaitStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, err := r.spawner.Start(c, guardStart)
	if err != nil {
		return 0, nil, err
	}
	exited := make(chan syscall.WaitStatus, 1)
	r.waiting[p.PID] = exited
	go r.watch(p)
	return p.PID, exited, nil
}

// watch reaps one command as soon as it ends. The signal would tell us too, but
// later: it has to pass through more threads than the poller.
func (r *reaper) watch(p spawn.Process) {
	p.Ended()
	r.reap(p.PID)
}

// isMain says whether pid is the first process of a command.
func (r *reaper) isMain(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.waiting[pid]
	return ok
}

// signalGroup signals the process group of a command whose first process has not
// been reaped: until then nobody else can have its number.
func (r *reaper) signalGroup(pid int, sig syscall.Signal) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.waiting[pid]; !ok {
		return nil
	}
	if err := kill(-pid, sig); err != nil && err != unix.ESRCH {
		return os.NewSyscallError("kill", err)
	}
	return nil
}

// run reaps until the process ends.
func (r *reaper) run() {
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	for {
		r.reapAll()
		<-children
	}
}

// letGo continues a process that asked to be traced by its parent, which we are.
// It would wait for ever, and what we are told of it is not its end. Only the
// thread that started it can let it go.
func (r *reaper) letGo(pid int, signal syscall.Signal) {
	if signal == syscall.SIGTRAP {
		signal = 0 // it is meant for a tracer
	}
	r.spawner.Prepare(func() error {
		_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(pid), 0, uintptr(signal), 0, 0)
		return errno
	})
}

// reapAll waits for every child that has ended: commands and orphans.
func (r *reaper) reapAll() {
	for r.reap(-1) {
	}
}

// reap waits for a child that has ended, if it is not waited for yet, and tells
// who waits for it. It says whether there was one.
func (r *reaper) reap(which int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.waiting[which]; which > 0 && !ok {
		return false // the number may belong to another by now
	}
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(which, &status, syscall.WNOHANG|unix.WALL, nil)
	for err == syscall.EINTR {
		pid, err = syscall.Wait4(which, &status, syscall.WNOHANG|unix.WALL, nil)
	}
	if pid <= 0 {
		return false
	}
	if status.Stopped() {
		r.letGo(pid, status.StopSignal())
		return true
	}
	if exited, ok := r.waiting[pid]; ok {
		delete(r.waiting, pid)
		exited <- status
	}
	return true
}
