package guest

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/mark"
	"hermes.example/hermes/internal/proc"
)

// markTree is a command whose processes are known by their mark.
type markTree struct {
	marks  *marks
	number uint64
}

func (t *markTree) members() []int {
	var alive []int
	t.look(func(pid int) {
		if p, ok := proc.Read(pid); ok && !p.Zombie {
			alive = append(alive, pid)
		}
	})
	return alive
}

func (t *markTree) killAll() []int { return killUntilQuiet(t.look, t.lookAtStillness, t.members) }

// killUntilQuiet kills what look finds until it finds nothing. A process that forks
// and ends all the time is dead or gone whenever it is looked at. Where there are new
// ones again and again, it takes the other look. It returns the members that remain.
func killUntilQuiet(look, stillLook func(f func(pid int)) (missed int), members func() []int) []int {
	const patience, enough = 2, 2
	deadline := bootTime() + killBound
	killed := make(map[int]bool)
	restless, quiet := 0, 0 // looks in a row
	for pause := 100 * time.Microsecond; quiet < enough; {
		fresh := 0
		kill := func(pid int) {
			kill(pid, unix.SIGKILL) // before anything else: it may be about to fork
			if !killed[pid] {
				killed[pid] = true
				fresh++
			}
		}
		weight := 1
		if restless >= patience {
			look, weight = stillLook, enough
		}
		if missed := look(kill); missed > 0 || fresh > 0 {
			restless++
			quiet = 0
		} else if len(members()) == 0 {
			quiet += weight
		} else { // they are ending
			time.Sleep(pause)
			pause = min(pause*2, 20*time.Millisecond)
		}
		if bootTime() >= deadline {
			return members()
		}
	}
	return nil
}

// lookAtStillness looks while every process of the sandbox is stopped. The kernel
// stops them at one instant, and a fork that is under way then does not happen.
func (t *markTree) lookAtStillness(f func(pid int)) (missed int) {
	if os.Getpid() != 1 {
		return t.look(f) // not everybody whom we may signal is in the sandbox
	}
	t.marks.stillness.Lock()
	defer t.marks.stillness.Unlock()
	before := make(map[int]bool)
	for _, p := range proc.All() {
		before[p.PID] = p.Stopped
	}
	killEverybody(unix.SIGSTOP)
	for range 10 {
		if missed = t.look(f); missed == 0 {
			break // otherwise the last ones are just ending
		}
	}
	for _, p := range proc.All() {
		if !before[p.PID] && p.PID != os.Getpid() {
			kill(p.PID, unix.SIGCONT)
		}
	}
	return missed
}

func (t *markTree) close() {}

// look calls f at once for every process of the command that it comes across, and
// returns how many processes were gone before their mark could be read.
func (t *markTree) look(f func(pid int)) (missed int) {
	if os.Getpid() != 1 {
		t.lookBelow(f)
		return 0
	}
	dir, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 1
	}
	defer unix.Close(dir)
	self := os.Getpid()
	buf := make([]byte, 8<<10)
	var names []string
	for {
		n, err := unix.Getdents(dir, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return missed + 1
		}
		if n == 0 {
			return missed
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names[:0])
		for _, name := range names {
			pid, err := strconv.Atoi(name)
			if err != nil || pid == self || pid <= 1 {
				continue
			}
			if k, ok := mark.Of(pid); !ok {
				missed++
			} else if t.owns(pid, k) {
				f(pid)
			}
		}
	}
}

// lookBelow is look where not everybody whom we see is in the sandbox. Who was gone
// too soon may have been another command's, and the sandbox cannot be held still, so
// it looks again until it is as good as certain to have met one that forks and ends.
func (t *markTree) lookBelow(f func(pid int)) {
	const certain = 20
	for range certain {
		found := false
		missed := descendants(func(pid int) {
			if k, ok := mark.Of(pid); ok && t.owns(pid, k) {
				found = true
				f(pid)
			}
		})
		if found || missed == 0 {
			return
		}
	}
}

// owns also takes a process that has spoilt its mark, if it can have been ours and
// descends from nobody else's: hiding whose it is must save no process.
func (t *markTree) owns(pid int, k mark.Mark) bool {
	for depth := 0; ; depth++ {
		switch {
		case t.marks.is(k, t.number):
			return true
		case t.marks.whole(k):
			return false
		case depth == 0 && !t.marks.maybe(k, t.number):
			return false
		}
		p, ok := proc.Read(pid)
		if !ok || p.Parent <= 1 || p.Parent == os.Getpid() || depth > 64 {
			return true
		}
		pid = p.Parent
		if k, ok = mark.Of(pid); !ok {
			return true
		}
	}
}

// nextNumber numbers the commands that get a mark.
func (s *Server) nextNumber() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sequence++
	return s.sequence
}
