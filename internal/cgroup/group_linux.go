package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Group is the control groups of one sandbox, one place per hierarchy in use.
// It holds paths only, so it needs no closing. See the package comment for its life.
type Group struct {
	name   string
	places []place
}

// place is <base>/hermes/<name> in one hierarchy.
type place struct {
	dir string
	v2  bool
}

// guest is the directory in which the guest lives.
func (p place) guest() string {
	if leaf := filepath.Join(p.dir, guestName); p.v2 && exists(leaf) {
		return leaf
	}
	return p.dir
}

func (p place) cmd() string { return filepath.Join(p.dir, cmdName) }

// Start calls start so that the process which it starts is born in the guest's
// place in every hierarchy. It takes some 0.2 ms, where moving a running process
// (AddGuest) waits 5 to 12 ms for an RCU grace period.
//
// start gets a descriptor for SysProcAttr.CgroupFD, or -1 for none, and returns the
// child's pid. It runs on a thread that ends afterwards, so the child must not ask
// for Pdeathsig. Where the kernel cannot bear a child into a group (before 5.7, or
// clone3 filtered) start is called a second time with -1, and the child is moved.
// When that move fails the error is returned and the child still runs.
func (g *Group) Start(start func(cgroupFD int) (pid int, err error)) error {
	fd := -1
	var v1 []string
	for _, p := range g.places {
		if !p.v2 {
			v1 = append(v1, filepath.Join(p.guest(), "tasks"))
			continue
		}
		if fd != -1 {
			continue
		}
		var err error
		if fd, err = openRaw(p.guest(), unix.O_RDONLY|unix.O_DIRECTORY); err != nil {
			return fmt.Errorf("cannot start the guest in cgroup %q: %w", g.name, err)
		}
		defer unix.Close(fd)
	}
	var err error
	onPassingThread(func() { err = g.startHere(start, fd, v1) })
	return err
}

func (g *Group) startHere(start func(int) (int, error), fd int, v1 []string) error {
	for _, tasks := range v1 {
		if err := writeFile(tasks, "0"); err != nil {
			return fmt.Errorf("cannot start the guest in cgroup %q: %w", g.name, err)
		}
	}
	_, err := start(fd)
	if fd == -1 || !(errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.E2BIG)) {
		return err
	}
	pid, err := start(-1)
	if err != nil {
		return err
	}
	return g.AddGuest(pid)
}

// onPassingThread runs f on a thread that ends afterwards, and so takes what f did
// to it away. Never on the first thread, which Go does not end and which decides
// where the whole process is charged.
func onPassingThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// While we hold the first thread, the next goroutine cannot get it.
			onPassingThread(f)
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}

// AddGuest moves a running process to the guest's place in every hierarchy. Start
// is far cheaper.
func (g *Group) AddGuest(pid int) error {
	for _, p := range g.places {
		if err := writeFile(filepath.Join(p.guest(), "cgroup.procs"), strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("cannot put process %d into cgroup %q: %w", pid, g.name, err)
		}
	}
	return nil
}

// Files opens what the guest inherits; the caller closes it. The kernel judges a
// write to V1Tasks by who opened it, so the guest needs no rights of its own.
func (g *Group) Files() (h Handles, err error) {
	defer func() {
		if err != nil {
			h.Close()
			h, err = Handles{}, fmt.Errorf("cannot open cgroup %q for the guest: %w", g.name, err)
		}
	}()
	for _, p := range g.places {
		oom := "memory.oom_control"
		if p.v2 {
			oom = "memory.events"
			if h.V2Cmd == nil {
				if h.V2Cmd, err = openFile(p.cmd(), unix.O_RDONLY|unix.O_DIRECTORY); err != nil {
					return h, err
				}
			}
		} else {
			tasks, err := openFile(filepath.Join(p.cmd(), "tasks"), unix.O_WRONLY)
			if err != nil {
				return h, err
			}
			h.V1Tasks = append(h.V1Tasks, tasks)
		}
		if h.OOMEvents == nil {
			h.OOMEvents, err = openFile(filepath.Join(p.cmd(), oom), unix.O_RDONLY)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return h, err
			}
		}
	}
	return h, nil
}

const freezeTimeout = 2 * time.Second

// Freeze stops all commands, or lets them go on; the guest is not touched. It
// returns when the kernel reports it done, and needs a v2 hierarchy.
func (g *Group) Freeze(frozen bool) error {
	value := "0"
	if frozen {
		value = "1"
	}
	for _, p := range g.places {
		if !p.v2 {
			continue
		}
		err := writeFile(filepath.Join(p.cmd(), "cgroup.freeze"), value)
		if err == nil {
			err = awaitEvent(p.cmd(), "frozen "+value, freezeTimeout)
		}
		if err != nil {
			return fmt.Errorf("cannot freeze or thaw cgroup %q: %w", g.name, err)
		}
		return nil
	}
	return fmt.Errorf("cannot freeze or thaw cgroup %q: it is in no cgroup v2 hierarchy", g.name)
}

// awaitEvent waits for a line of cgroup.events; the kernel wakes us when it changes.
func awaitEvent(dir, line string, timeout time.Duration) error {
	f, err := openFile(filepath.Join(dir, "cgroup.events"), unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 256)
	for deadline := time.Now().Add(timeout); ; {
		n, err := unix.Pread(int(f.Fd()), buf, 0)
		if err != nil {
			return &os.PathError{Op: "read", Path: f.Name(), Err: err}
		}
		if strings.Contains("\n"+string(buf[:n]), "\n"+line+"\n") {
			return nil
		}
		left := time.Until(deadline)
		if left <= 0 {
			return fmt.Errorf("%s does not say %q after %v", f.Name(), line, timeout)
		}
		poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLPRI}}, left)
	}
}

// poll waits until one of fds is ready or the time is over; the caller looks which.
func poll(fds []unix.PollFd, timeout time.Duration) {
	unix.Poll(fds, int(timeout.Milliseconds())+1)
}
