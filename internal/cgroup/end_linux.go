package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	killTimeout   = 5 * time.Second
	removeTimeout = 2 * time.Second
)

// Kill kills the whole sandbox, the guest included, and returns when nothing of it
// lives, or with the survivors after five seconds.
func (g *Group) Kill() error {
	for _, p := range g.places {
		if p.v2 {
			// Catches forks under way. It is absent before Linux 5.14, or the group
			// is gone: the loop below sees to both.
			writeFile(filepath.Join(p.dir, "cgroup.kill"), "1")
		}
	}
	deadline := time.Now().Add(killTimeout)
	for pause := newPause(deadline); ; {
		members := g.members()
		if len(members) == 0 {
			return nil
		}
		killAndAwait(members, g.members, deadline)
		if !pause.wait() {
			return fmt.Errorf("cannot kill cgroup %q: processes %v live on", g.name, g.members())
		}
	}
}

// killAndAwait signals through descriptors that were opened between two looks at
// the group: a pid that was given to a stranger in between is in one look only.
func killAndAwait(members []int, again func() []int, deadline time.Time) {
	fds := map[int]int{}
	for _, pid := range members {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			fds[pid] = fd
			defer unix.Close(fd)
		}
	}
	var dying []unix.PollFd
	for _, pid := range again() {
		if fd, ok := fds[pid]; ok && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil {
			dying = append(dying, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
	}
	for len(dying) > 0 && time.Now().Before(deadline) {
		poll(dying, time.Until(deadline))
		dying = slices.DeleteFunc(dying, func(d unix.PollFd) bool { return d.Revents != 0 })
	}
}

// members returns the processes whose first thread is in the group. In v1 single
// threads can be in a group (the guest's spawner; a creator inside Start), and
// cgroup.procs names their process, which is not ours to kill on that ground.
func (g *Group) members() []int {
	var pids []int
	for _, p := range g.places {
		for _, dir := range p.tree() {
			found := readPids(filepath.Join(dir, "cgroup.procs"))
			if !p.v2 && len(found) > 0 {
				threads := readPids(filepath.Join(dir, "tasks"))
				found = slices.DeleteFunc(found, func(pid int) bool { return !slices.Contains(threads, pid) })
			}
			pids = append(pids, found...)
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// readPids leaves out 0, which stands for a process outside our pid namespace and
// as a signal's target would mean ourselves.
func readPids(file string) []int {
	content, err := readFile(file)
	if err != nil {
		return nil
	}
	var pids []int
	for _, field := range strings.Fields(content) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 0 && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// tree returns all groups of the place. In v1 the guest has no right to make any,
// which saves the listing.
func (p place) tree() []string {
	if !p.v2 {
		return []string{p.dir, p.cmd()}
	}
	dirs := []string{p.dir}
	for i := 0; i < len(dirs); i++ {
		dirs = append(dirs, subgroups(dirs[i])...)
	}
	return dirs
}

// Remove removes the groups from the leaves up, also those that the guest made, and
// the shared parent when it is the last. It kills nothing: a group that still holds
// processes after two seconds is an error. Removing what is gone is none.
func (g *Group) Remove() error {
	pause := newPause(time.Now().Add(removeTimeout))
	for _, p := range g.places {
		for {
			err := p.remove()
			if err == nil {
				break
			}
			// Busy: processes are still exiting, or the guest made one more group.
			if !errors.Is(err, unix.EBUSY) || !pause.wait() {
				return fmt.Errorf("cannot remove cgroup %q: %w", g.name, err)
			}
		}
		rmdir(filepath.Dir(p.dir)) // fails while another sandbox is there
	}
	return nil
}

// remove begins with what is there as a rule: that saves the listing.
func (p place) remove() error {
	known := []string{p.cmd(), p.dir}
	if p.v2 {
		known = []string{p.cmd(), filepath.Join(p.dir, guestName), p.dir}
	}
	for _, dir := range known {
		if err := removeTree(dir); err != nil {
			return err
		}
	}
	return nil
}

func removeTree(dir string) error {
	err := rmdir(dir)
	if !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.ENOTEMPTY) {
		return ignoreGone(err)
	}
	for _, d := range subgroups(dir) {
		if err := removeTree(d); err != nil {
			return err
		}
	}
	return ignoreGone(rmdir(dir))
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// pause paces a loop that waits for something the kernel does not announce: from
// 0.1 ms, doubling to 20 ms, until the deadline.
type pause struct {
	next     time.Duration
	deadline time.Time
}

func newPause(deadline time.Time) *pause {
	return &pause{next: 100 * time.Microsecond, deadline: deadline}
}

// wait is false when the time is over.
func (p *pause) wait() bool {
	left := time.Until(p.deadline)
	if left <= 0 {
		return false
	}
	<-time.After(min(p.next, left))
	p.next = min(2*p.next, 20*time.Millisecond)
	return true
}
