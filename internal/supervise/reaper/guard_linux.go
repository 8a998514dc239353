package reaper

import (
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/spawn"
	"hermes.example/hermes/internal/supervise/tree"
)

// stopPatience is how long a new process may be stopped again and again before its exec.
const stopPatience = time.Second

// guard watches a start until the returned function is called: it continues the new process when somebody stops it, and
// kills it when that does not help. The process is the user's already before its exec, and the start is waited for with
// the lock held: with it would wait all reaping and every signal.
func guard() (stop func()) {
	began := time.Now()
	return spawn.Guard(func() {
		sig := unix.SIGCONT
		if time.Since(began) > stopPatience {
			sig = unix.SIGKILL
		}
		// They cannot have been reaped while a start waits for them.
		for _, p := range spawn.Unborn() {
			if p.Stopped {
				_ = tree.Signal(p.PID, sig) // the next look shows what came of it
			}
		}
	})
}
