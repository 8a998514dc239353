package local

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/mark"
	"hermes.example/hermes/internal/proc"
	"hermes.example/hermes/internal/wire"
)

// commandPrefix is what the execution ids of a sandbox's commands begin with, where
// they stand in an environment.
func commandPrefix(runName string) string { return runName + "/" }

// endLeft ends the commands of a sandbox whose guest is dead, and what descends from
// them, until there are none. They are known by their environment, and by the mark
// that every command has. One that has cleared its environment and lost its parent is
// not found; the posture says so.
func endLeft(ctx context.Context, prefix string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(pause*2, 50*time.Millisecond) {
		left := findLeft([]byte(wire.ExecVariable + "=" + prefix))
		if len(left) == 0 {
			return nil
		}
		for _, pidfd := range left {
			unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
			unix.Close(pidfd)
		}
		select {
		case <-ctx.Done():
			return errors.New("processes of the sandbox do not end")
		case <-time.After(pause):
		}
	}
}

// findLeft opens all processes that have the entry in their environment, and all that
// descend from them.
func findLeft(entry []byte) (pidfds []int) {
	ours, _ := mark.Of(0)
	candidates := make(map[int]process)
	for _, pid := range proc.PIDs() {
		if pid == os.Getpid() {
			continue
		}
		if k, ok := mark.Of(pid); ok && k.Rank() < ours.Rank() {
			candidates[pid] = look(pid, entry)
		}
	}
	for pid := range candidates {
		if !belongs(candidates, pid) {
			continue
		}
		pidfd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if now := look(pid, entry); now.dead || now.started != candidates[pid].started {
			unix.Close(pidfd)
			continue
		}
		pidfds = append(pidfds, pidfd)
	}
	return pidfds
}

// process is what is known of one that bears a mark.
type process struct {
	parent  int
	started uint64 // tells two users of one pid apart
	marked  bool   // it has the entry
	dead    bool
}

func look(pid int, entry []byte) process {
	found, ok := proc.Read(pid)
	p := process{parent: found.Parent, started: found.Started, dead: !ok || found.Zombie}
	environ, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		p.marked = p.marked || bytes.HasPrefix(variable, entry)
	}
	return p
}

// belongs says whether a process, or one that it descends from, has the entry.
func belongs(all map[int]process, pid int) bool {
	for range len(all) {
		p, known := all[pid]
		if !known || p.dead {
			return false
		}
		if p.marked {
			return true
		}
		pid = p.parent
	}
	return false
}
