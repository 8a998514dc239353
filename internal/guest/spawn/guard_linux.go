package spawn

import (
	"os"
	"sync"
	"time"

	"hermes.example/hermes/internal/proc"
)

// guardSlow is how long a start takes until somebody looks after it.
const guardSlow = 50 * time.Millisecond

// Guard watches a start until the returned function is called. Between its fork and its exec a process is already one
// that others may stop, and whoever starts it cannot go on before it has executed. Look is called again and again while
// that takes long, and never after the returned function was.
func Guard(look func()) (stop func()) {
	var mu sync.Mutex
	done := false
	var timer *time.Timer
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(guardSlow, func() {
		mu.Lock()
		defer mu.Unlock()
		if done {
			return
		}
		look()
		timer.Reset(guardSlow / 2)
	})
	return func() {
		mu.Lock()
		done = true
		mu.Unlock()
		timer.Stop()
	}
}

// Unborn are children of ours before their exec: they still have our name, and whoever else has it has no reason to.
func Unborn() (found []proc.Process) {
	self, ok := proc.Read(os.Getpid())
	if !ok {
		return nil
	}
	for _, p := range proc.All() {
		if p.Parent == self.PID && p.Name == self.Name {
			found = append(found, p)
		}
	}
	return found
}
