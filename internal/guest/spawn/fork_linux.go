package spawn

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// vfork clones the calling thread; see the assembly for why it is not Go.
//
//go:noescape
func vfork(flags uintptr) (pid, errno uintptr)

// The runtime keeps signal handlers and masks consistent across a fork through
// these three; package syscall's own fork calls the same ones.

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

//go:linkname afterForkInChild syscall.runtime_AfterForkInChild
func afterForkInChild()

// plan is a Command in the form that the child can use: pointers to memory made
// before the fork, because the child may not allocate.
type plan struct {
	path       *byte
	argv       **byte
	envp       **byte
	dir        *byte
	files      []filePlacement
	rlimits    []Rlimit
	cgroup     uintptr
	hasCgroup  bool
	subreaper  bool
	terminal   bool
	failedStep int
}

type filePlacement struct{ from, to uintptr }

// Steps at which a child can fail, as told to the parent.
const (
	stepNone = iota
	stepCgroup
	stepSession
	stepFiles
	stepLimits
	stepDirectory
	stepExec
)

var selfProcess = [1]byte{'0'}

// forkExec runs p in a new process. The child shares our memory until it has
// called execve, and the calling thread sleeps that long, so the child must not
// allocate, grow its stack or return: only raw system calls on prepared memory.
// Because memory is shared it reports its failure by a plain store.
//
//go:noinline
//go:norace
//go:nocheckptr
func forkExec(p *plan) (pid uintptr, errno syscall.Errno) {
	var code uintptr
	beforeFork()
	pid, code = vfork(unix.CLONE_VFORK | unix.CLONE_VM | uintptr(unix.SIGCHLD))
	if code != 0 || pid != 0 {
		afterFork()
		return pid, syscall.Errno(code)
	}
	afterForkInChild()
	child(p)
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 253, 0, 0)
	}
}

// child does what lies between fork and exec, and returns only on failure.
//
//go:nosplit
//go:norace
//go:nocheckptr
func child(p *plan) {
	var e syscall.Errno
	if p.hasCgroup {
		// First of all, so that no process of the command is ever outside.
		if _, _, e = syscall.RawSyscall(unix.SYS_WRITE, p.cgroup, uintptr(unsafe.Pointer(&selfProcess)), 1); e != 0 {
			p.failedStep = stepCgroup
			fail(e)
			return
		}
	}
	if p.subreaper {
		syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0, 0)
	}
	if _, _, e = syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0); e != 0 {
		p.failedStep = stepSession
		fail(e)
		return
	}
	for i := range p.files {
		if _, _, e = syscall.RawSyscall(unix.SYS_DUP3, p.files[i].from, p.files[i].to, 0); e != 0 {
			p.failedStep = stepFiles
			fail(e)
			return
		}
	}
	if p.terminal {
		if _, _, e = syscall.RawSyscall(unix.SYS_IOCTL, 0, unix.TIOCSCTTY, 0); e != 0 {
			p.failedStep = stepFiles
			fail(e)
			return
		}
	}
	for i := range p.rlimits {
		r := &p.rlimits[i]
		if _, _, e = syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, r.Resource, uintptr(unsafe.Pointer(&r.Value)), 0, 0, 0); e != 0 {
			p.failedStep = stepLimits
			fail(e)
			return
		}
	}
	if p.dir != nil {
		if _, _, e = syscall.RawSyscall(unix.SYS_CHDIR, uintptr(unsafe.Pointer(p.dir)), 0, 0); e != 0 {
			p.failedStep = stepDirectory
			fail(e)
			return
		}
	}
	_, _, e = syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(p.path)), uintptr(unsafe.Pointer(p.argv)), uintptr(unsafe.Pointer(p.envp)))
	p.failedStep = stepExec
	fail(e)
}

// childErrno is where a child leaves its error. One spawner thread exists and it
// sleeps while the child runs, so there is never more than one writer.
var childErrno uintptr

//go:norace
//go:nosplit
func fail(e syscall.Errno) { childErrno = uintptr(e) }
