package spawn

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/ownthread"
)

// Command is one process to start. Descriptors stay the caller's to close.
type Command struct {
	Path string
	Argv []string
	Env  []string
	// Dir is the working directory; empty keeps the guest's.
	Dir string
	// Files maps the child's descriptor numbers to ours. Everything not named
	// here is closed in the child by close-on-exec.
	Files map[int]int
	// Terminal makes descriptor 0 the controlling terminal.
	Terminal bool
	// Cgroup is the directory of the cgroup v2 that the child is born in, or -1.
	Cgroup int
	// UID and GID are who it runs as; zero keeps the thread's.
	UID, GID int
	// Groups are the further groups of that user; nil keeps the thread's.
	Groups []uint32
	// Namespaces are the CLONE_NEW flags of namespaces that it gets for itself.
	Namespaces uint64
	// Ambient are capabilities that it keeps through its exec without being
	// root: those of a user namespace that has no ids yet.
	Ambient []uintptr
	// Subreaper makes orphans of the command its children, so that its tree can
	// be found by lineage as long as its first process lives.
	Subreaper bool
	Rlimits   []Rlimit
}

// Rlimit is one resource limit, set in the child.
type Rlimit struct {
	Resource uintptr
	Value    unix.Rlimit
}

// Spawner is the prepared thread. It lives as long as the process.
type Spawner struct {
	requests chan request
}

// request is a command to start, or a step of the preparation.
type request struct {
	command *Command
	step    func() error
	answer  chan<- result
}

type result struct {
	process Process
	err     error
}

// Error tells at which step a start failed.
type Error struct {
	Step  string
	Errno syscall.Errno
}

func (e *Error) Error() string { return e.Step + ": " + e.Errno.Error() }
func (e *Error) Unwrap() error { return e.Errno }

// New starts the thread and runs prepare on it. A thread that could not be
// prepared is ended, and nothing can be spawned from it.
func New(prepare func() error) (*Spawner, error) {
	s := &Spawner{requests: make(chan request)}
	prepared := make(chan error)
	go ownthread.Run(func() { s.serve(prepare, prepared) })
	if err := <-prepared; err != nil {
		return nil, err
	}
	return s, nil
}

// serve is the spawner thread. A process is accounted where its first thread is, so
// that one stays the guest's.
func (s *Spawner) serve(prepare func() error, prepared chan<- error) {
	err := prepare()
	prepared <- err
	if err != nil {
		return
	}
	for r := range s.requests {
		var res result
		if r.step != nil {
			res.err = r.step()
		} else {
			res.process, res.err = Start(r.command)
		}
		r.answer <- res
	}
}

// Prepare runs one more step of the preparation on the thread. Some steps need
// privileges that the rest of the process gives up in between.
func (s *Spawner) Prepare(step func() error) error {
	answer := make(chan result, 1)
	s.requests <- request{step: step, answer: answer}
	return (<-answer).err
}

// Start forks and executes c. Meanwhile, on the caller's thread, it calls watch,
// and what that returned when the start is over.
func (s *Spawner) Start(c *Command, watch func() (stop func())) (Process, error) {
	answer := make(chan result, 1)
	s.requests <- request{command: c, answer: answer}
	stop := watch()
	r := <-answer
	stop()
	return r.process, r.err
}

// firstFree is above every descriptor number that a Command places, so that a
// source never sits where another one has to go.
const firstFree = 128

// Start forks and executes c from the calling thread, with what that has.
func Start(c *Command) (Process, error) {
	p, release, err := prepare(c)
	if err != nil {
		return Process{}, err
	}
	defer release()

	syscall.ForkLock.Lock()
	pid, errno := forkExec(p)
	syscall.ForkLock.Unlock()

	if errno != 0 {
		return Process{}, &Error{"fork", errno}
	}
	if p.failed != 0 {
		// The child is gone; nobody else knows of it, so it is ours to reap.
		unix.Close(int(p.pidfd))
		var status syscall.WaitStatus
		for {
			if _, err := syscall.Wait4(int(pid), &status, 0, nil); err != syscall.EINTR {
				break
			}
		}
		return Process{}, &Error{stepName(p.failedStep), p.failed}
	}
	return Process{int(pid), int(p.pidfd)}, nil
}

func prepare(c *Command) (*plan, func(), error) {
	p := &plan{subreaper: c.Subreaper, terminal: c.Terminal, rlimits: c.Rlimits, uid: uintptr(c.UID), gid: uintptr(c.GID), groups: c.Groups}
	p.clone = cloneArgs{flags: cloneFlags | c.Namespaces, pidfd: uint64(uintptr(unsafe.Pointer(&p.pidfd))), exitSignal: uint64(unix.SIGCHLD)}
	if c.Cgroup >= 0 {
		p.intoCgroup = true
		p.clone.flags |= unix.CLONE_INTO_CGROUP
		p.clone.cgroup = uint64(c.Cgroup)
	}
	p.ambient, p.header.Version = c.Ambient, unix.LINUX_CAPABILITY_VERSION_3
	for _, capability := range c.Ambient {
		set := &p.caps[capability/32]
		set.Permitted |= 1 << (capability % 32)
		set.Effective, set.Inheritable = set.Permitted, set.Permitted
	}
	var moved []int
	release := func() {
		for _, fd := range moved {
			unix.Close(fd)
		}
	}
	fill := func() (err error) {
		if p.path, err = syscall.BytePtrFromString(c.Path); err != nil {
			return fmt.Errorf("path: %w", errNUL)
		}
		argv, err := syscall.SlicePtrFromStrings(c.Argv)
		if err != nil {
			return fmt.Errorf("argument: %w", errNUL)
		}
		envp, err := syscall.SlicePtrFromStrings(c.Env)
		if err != nil {
			return fmt.Errorf("environment: %w", errNUL)
		}
		p.argv, p.envp = &argv[0], &envp[0]
		if c.Dir != "" {
			if p.dir, err = syscall.BytePtrFromString(c.Dir); err != nil {
				return fmt.Errorf("directory: %w", errNUL)
			}
		}
		for to, from := range c.Files {
			if from < firstFree {
				high, err := unix.FcntlInt(uintptr(from), unix.F_DUPFD_CLOEXEC, firstFree)
				if err != nil {
					return fmt.Errorf("cannot place descriptor %d: %w", to, err)
				}
				moved = append(moved, high)
				from = high
			}
			p.files = append(p.files, filePlacement{uintptr(from), uintptr(to)})
		}
		return nil
	}
	if err := fill(); err != nil {
		release()
		return nil, nil, err
	}
	return p, release, nil
}

var errNUL = errors.New("contains a NUL byte")

func stepName(step int) string {
	switch step {
	case stepSession:
		return "new session"
	case stepFiles:
		return "descriptors"
	case stepLimits:
		return "resource limits"
	case stepUser:
		return "change user"
	case stepCapabilities:
		return "capabilities"
	case stepDirectory:
		return "chdir"
	default:
		return "exec"
	}
}
