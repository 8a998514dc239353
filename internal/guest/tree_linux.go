package guest

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/proc"
)

// tree is every process that a command has made, however it tried to get away.
type tree interface {
	// members lists the living ones, the command's first process included.
	members() []int
	// killAll ends them all by SIGKILL and returns those that remain.
	killAll() []int
	// close releases what the tree holds. Processes that live on, live on.
	close()
}

// endTree asks the tree to end, gives it the grace, and then kills it.
// It returns the processes that would not die.
func endTree(t tree, grace time.Duration) (survivors []int) {
	if grace > 0 {
		told := make(map[int]bool)
		deadline := bootTime() + grace
		for pause := time.Millisecond; ; pause = min(pause*2, 50*time.Millisecond) {
			alive := t.members()
			if len(alive) == 0 {
				break
			}
			for _, pid := range alive {
				if !told[pid] {
					told[pid] = true
					kill(pid, unix.SIGTERM)
					// A stopped process does not see the signal before it continues.
					kill(pid, unix.SIGCONT)
				}
			}
			if bootTime() >= deadline {
				break
			}
			time.Sleep(pause)
		}
	}
	return t.killAll()
}

// killBound is how long killing may take before the rest is reported.
const killBound = 10 * time.Second

// cgroupTree is a command with a cgroup of its own. Membership is exact and the
// kernel kills all members at once.
type cgroupTree struct {
	owner *cgroups
	name  string
	dir   *os.File // the command is born here
	// killed says that the kernel was told to kill all members. It may then kill
	// whoever is born there later too, so the cgroup is not used again.
	killed atomic.Bool
}

func (t *cgroupTree) open(name string, mode int) (*os.File, error) {
	fd, err := unix.Openat(int(t.dir.Fd()), name, mode|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("open "+name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (t *cgroupTree) members() []int {
	f, err := t.open("cgroup.procs", unix.O_RDONLY)
	if err != nil {
		return nil
	}
	defer f.Close()
	var pids []int
	buf := make([]byte, 64<<10)
	for {
		n, err := f.Read(buf)
		for _, line := range strings.Fields(string(buf[:n])) {
			// 0 stands for a process outside our pid namespace: not ours to signal.
			if pid, err := strconv.Atoi(line); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
		if n == 0 || err != nil {
			break
		}
	}
	return slices.DeleteFunc(pids, func(pid int) bool {
		p, ok := proc.Read(pid)
		return !ok || p.Zombie
	})
}

func (t *cgroupTree) killAll() []int {
	deadline := bootTime() + killBound
	for pause := 200 * time.Microsecond; ; pause = min(pause*2, 20*time.Millisecond) {
		t.killByKernel()
		if !t.populated() {
			return nil
		}
		// The kernel's way is absent before Linux 5.14, and passes over processes
		// whose first thread has ended.
		for _, pid := range t.members() {
			kill(pid, unix.SIGKILL)
		}
		if bootTime() >= deadline {
			return t.members()
		}
		time.Sleep(pause)
	}
}

// populated asks the kernel whether anything lives in the cgroup. A list of members
// does not tell: who forks and ends all the time is gone from it before it is read.
func (t *cgroupTree) populated() bool {
	f, err := t.open("cgroup.events", unix.O_RDONLY)
	if err != nil {
		return !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENODEV)
	}
	defer f.Close()
	var buf [256]byte
	n, err := f.Read(buf[:])
	return err != nil && !errors.Is(err, unix.ENODEV) || strings.Contains(string(buf[:n]), "populated 1")
}

// killByKernel is one call that also catches processes forked meanwhile.
func (t *cgroupTree) killByKernel() {
	if f, err := t.open("cgroup.kill", unix.O_WRONLY); err == nil {
		t.killed.Store(true)
		f.Write([]byte("1"))
		f.Close()
	}
}

// close gives the cgroup back. Background processes of a finished command keep
// theirs.
func (t *cgroupTree) close() { t.owner.giveBack(t) }

// lineageTree finds a command's processes by descent. The command's first
// process is a child subreaper, so as long as it lives every process of the tree
// is its descendant, whatever session, group, user or environment it took. When
// it is gone, what it had already been seen to own counts, and its orphans.
type lineageTree struct {
	main  int
	entry string // in the environment of every member that kept it
	known map[int]uint64
	// foreign says that a process belongs to another command.
	foreign func(proc.Process) bool
	since   uint64
}

func newLineageTree(main int, entry string, foreign func(proc.Process) bool) *lineageTree {
	t := &lineageTree{main: main, entry: entry, known: make(map[int]uint64), foreign: foreign}
	if p, ok := proc.Read(main); ok {
		t.known[main], t.since = p.Started, p.Started
	}
	return t
}

func (t *lineageTree) members() []int {
	all := proc.All()
	self := os.Getpid()
	byPID := make(map[int]proc.Process, len(all))
	for _, p := range all {
		byPID[p.PID] = p
	}
	first, ok := byPID[t.main]
	mainAlive := ok && !first.Zombie && first.Started == t.since
	owned := make(map[int]bool, len(all))
	var owns func(p proc.Process, depth int) bool
	owns = func(p proc.Process, depth int) bool {
		if mine, seen := owned[p.PID]; seen {
			return mine
		}
		mine := false
		switch started, seen := t.known[p.PID]; {
		case p.PID == self || p.PID == 1:
		case seen && started == p.Started:
			mine = true
		case p.Session == t.main || p.Group == t.main:
			mine = true
		case p.Parent != self && depth < len(all):
			if parent, ok := byPID[p.Parent]; ok {
				mine = owns(parent, depth+1)
			}
		case t.foreign(p):
		case proc.HasEnvironment(p.PID, t.entry):
			mine = true
		case !mainAlive && p.Started >= t.since:
			mine = true // an orphan that nobody else owns
		}
		owned[p.PID] = mine
		return mine
	}
	var alive []int
	for _, p := range all {
		if owns(p, 0) {
			t.known[p.PID] = p.Started
			if !p.Zombie {
				alive = append(alive, p.PID)
			}
		}
	}
	return alive
}

// killAll stops what it finds before it kills, so that fewer and fewer are left
// to fork, and keeps the first process to the last, because it is the anchor of
// the lineage.
func (t *lineageTree) killAll() []int {
	deadline := bootTime() + killBound
	kill(t.main, unix.SIGSTOP)
	for pause := 200 * time.Microsecond; ; pause = min(pause*2, 20*time.Millisecond) {
		for _, pid := range t.members() {
			kill(pid, unix.SIGSTOP)
		}
		others := 0
		for _, pid := range t.members() {
			if pid != t.main {
				others++
				kill(pid, unix.SIGKILL)
			}
		}
		if others == 0 || bootTime() >= deadline {
			kill(t.main, unix.SIGKILL)
		}
		alive := t.members()
		if len(alive) == 0 || bootTime() >= deadline {
			return alive
		}
		time.Sleep(pause)
	}
}

func (t *lineageTree) close() {}
