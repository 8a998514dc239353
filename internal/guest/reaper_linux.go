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

	mu      sync.Mutex
	waiting map[int]chan<- syscall.WaitStatus
	// reaped counts every child that ended; waiters use it to look again.
	reaped sync.Cond
	count  uint64
}

func newReaper(s *spawn.Spawner) *reaper {
	r := &reaper{spawner: s, waiting: make(map[int]chan<- syscall.WaitStatus)}
	r.reaped.L = &r.mu
	return r
}

// start starts c. Its status is sent once on the returned channel.
func (r *reaper) start(c *spawn.Command) (int, <-chan syscall.WaitStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := r.spawner.Start(c)
	if err != nil {
		return 0, nil, err
	}
	exited := make(chan syscall.WaitStatus, 1)
	r.waiting[pid] = exited
	return pid, exited, nil
}

// isMain says whether pid is the first process of a command.
func (r *reaper) isMain(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.waiting[pid]
	return ok
}

// run reaps until the process ends. It also takes every other signal that can
// be caught and drops it: a process inside may send them to PID 1, and the
// default action of most is to end it.
func (r *reaper) run() {
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, everySignalBut(syscall.SIGCHLD, syscall.SIGURG, syscall.SIGKILL, syscall.SIGSTOP)...)
	go func() {
		for range ignored {
		}
	}()
	for {
		r.reapAll()
		<-children
	}
}

func everySignalBut(but ...syscall.Signal) []os.Signal {
	var all []os.Signal
next:
	for s := syscall.Signal(1); s <= 64; s++ {
		for _, b := range but {
			if s == b {
				continue next
			}
		}
		all = append(all, s)
	}
	return all
}

func (r *reaper) reapAll() {
	for {
		r.mu.Lock()
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|unix.WALL, nil)
		if pid > 0 {
			if exited, ok := r.waiting[pid]; ok {
				delete(r.waiting, pid)
				exited <- status
			}
			r.count++
			r.reaped.Broadcast()
		}
		r.mu.Unlock()
		if pid <= 0 && err != syscall.EINTR {
			return
		}
	}
}
