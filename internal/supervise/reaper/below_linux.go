package reaper

import (
	"os"
	"syscall"
	"time"

	"hermes.example/hermes/internal/proc"
	"hermes.example/hermes/internal/supervise/tree"
)

// Times that what is left when a machine's services have ended has: to end by itself, and to be gone when it was
// killed.
const (
	restGrace = time.Second
	restKill  = 500 * time.Millisecond
	restLook  = 5 * time.Millisecond
)

// EndBelow ends what still runs below this process when its services have ended, sandboxes too: what a main program
// left in the background, and what escaped a service. It is asked first, unless there is no time.
func EndBelow(hurry bool) {
	if !hurry && signalRest(syscall.SIGTERM, restGrace) {
		return
	}
	signalRest(syscall.SIGKILL, restKill)
}

// signalRest signals everything below us, also what appears meanwhile, and says whether all was gone in time. A
// process gets the signal once: a second one might interrupt what the first began.
func signalRest(sig syscall.Signal, within time.Duration) bool {
	told := map[int]bool{}
	look := time.NewTicker(restLook)
	defer look.Stop()
	for end := time.Now().Add(within); ; <-look.C {
		rest := Below()
		if len(rest) == 0 {
			return true
		}
		for _, pid := range rest {
			if !told[pid] {
				_ = tree.Signal(pid, sig) // one that ended meanwhile is what is wanted
				told[pid] = true
			}
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// Below are the processes below us that have not ended, by the parents that the kernel tells: as PID 1 and as a
// subreaper we are the parent of every orphan.
func Below() []int {
	children := map[int][]int{}
	for _, p := range proc.All() {
		if !p.Zombie {
			children[p.Parent] = append(children[p.Parent], p.PID)
		}
	}
	found := children[os.Getpid()]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}
