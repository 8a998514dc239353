package supervise

import (
	"sync"
	"syscall"
	"time"
)

// process is one run of a service: its first process, and with it all that this one starts. Its life: launch makes
// it, live waits for its end and ends its tree.
type process struct {
	service *Service // as it was when it was started
	pid     int
	began   time.Time
	exited  <-chan syscall.WaitStatus
	// notified returns when the service has said that it is ready, or false when it will not any more.
	notified func() bool
	// signal signals the first process.
	signal func(syscall.Signal)
	// endTree kills all that lives of the tree, and returns what cannot be.
	endTree func() []int
	// close lets go of what the supervisor has of it, after all that it said was read.
	close func()

	once   sync.Once
	killed chan struct{}
}

// kill asks live to kill the tree.
func (p *process) kill() { p.once.Do(func() { close(p.killed) }) }

// live is the goroutine of one process: from its start until nothing of it is left.
func (s *Supervisor) live(u *unit, service *Service) {
	p, err := s.launch(service)
	if err != nil {
		u.on(func() { u.notStarted(err) })
		return
	}
	u.on(func() { u.started(p) })
	var status syscall.WaitStatus
	select {
	case status = <-p.exited:
	case <-p.killed:
		if left := p.endTree(); len(left) > 0 {
			u.on(func() { u.stuck(left) })
		}
		status = <-p.exited
	}
	u.on(func() { u.exited(status) })
	left := p.endTree()
	p.close()
	u.on(func() { u.ended(p, left) })
}

// on brings an event.
func (u *unit) on(event func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	event()
}
