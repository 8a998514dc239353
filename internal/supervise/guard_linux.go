package supervise

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/proc"
	"hermes.example/hermes/internal/supervise/tree"
)

// Between its fork and its exec a service is the user's already, who may stop it, and the reaper waits for the start with
// its lock held: with it would wait all reaping and every signal.
const (
	startSlow    = 50 * time.Millisecond // from then on we look whether it is stopped
	stopPatience = time.Second           // how long it may be stopped again and again
)

// guardStart watches a start until the returned function is called: it continues the new process when somebody stops it,
// and kills it when that does not help.
func guardStart() (stop func()) {
	var mu sync.Mutex
	done := false
	began := time.Now()
	var timer *time.Timer
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(startSlow, func() {
		mu.Lock()
		defer mu.Unlock()
		if done {
			return
		}
		sig := unix.SIGCONT
		if time.Since(began) > stopPatience {
			sig = unix.SIGKILL
		}
		for _, pid := range unborn() {
			_ = tree.Signal(pid, sig) // the next look shows what came of it
		}
		timer.Reset(startSlow / 2)
	})
	return func() {
		mu.Lock()
		done = true
		mu.Unlock()
		timer.Stop()
	}
}

// unborn are children of ours that are stopped before their exec: they still have our name, which no program of a service
// has a reason to take. They cannot have been reaped while a start waits for them.
func unborn() (pids []int) {
	self, ok := proc.Read(os.Getpid())
	if !ok {
		return nil
	}
	for _, p := range proc.All() {
		if p.Parent == self.PID && p.Stopped && p.Name == self.Name {
			pids = append(pids, p.PID)
		}
	}
	return pids
}
