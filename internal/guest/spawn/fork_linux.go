package spawn

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// vfork makes the system call clone or clone3; see the assembly for why it is
// not Go.
//
//go:noescape
func vfork(call, a1, a2, a3 uintptr) (pid, errno uintptr)

// ForkAddress is where the kernel sees the system call of a fork come from. A
// system call filter can make an exception for it.
func ForkAddress() uintptr

// The runtime keeps signal handlers and masks consistent across a fork through
// these three; package syscall's own fork calls the same ones.

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

//go:linkname afterForkInChild syscall.runtime_AfterForkInChild
func afterForkInChild()

// These two let the runtime go on without us. A fork lasts as long as its child
// likes: somebody may stop it before its exec, and everything that waits for all
// goroutines, like the garbage collector, would wait for that.

//go:linkname enterSyscall runtime.entersyscall
func enterSyscall()

//go:linkname exitSyscall runtime.exitsyscall
func exitSyscall()

// plan is a Command in the form that the child can use: pointers to memory made
// before the fork, because the child may not allocate.
type plan struct {
	path       *byte
	argv       **byte
	envp       **byte
	dir        *byte
	files      []filePlacement
	rlimits    []Rlimit
	pidfd      int32     // filled in by the kernel
	clone      cloneArgs // with a cgroup to be born in, if any
	intoCgroup bool
	subreaper  bool
	terminal   bool
	uid, gid   uintptr
	groups     []uint32
	ambient    []uintptr
	header     unix.CapUserHeader
	caps       [2]unix.CapUserData
	// What the child tells of its failure, through the memory that it shares.
	failedStep int
	failed     syscall.Errno
}

// cloneArgs is the kernel's struct clone_args, in its third version.
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// cloneFlags are those of every fork.
const cloneFlags = unix.CLONE_VFORK | unix.CLONE_VM | unix.CLONE_PIDFD

type filePlacement struct{ from, to uintptr }

// Steps at which a child can fail, as told to the parent.
const (
	stepNone = iota
	stepSession
	stepFiles
	stepLimits
	stepUser
	stepCapabilities
	stepDirectory
	stepExec
)

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
	enterSyscall()
	beforeFork()
	if p.intoCgroup {
		// Being born in a cgroup is cheap. Moving there afterwards is not: the
		// kernel then waits for a grace period, ten milliseconds and more.
		pid, code = vfork(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&p.clone)), unsafe.Sizeof(p.clone), 0)
	} else {
		pid, code = vfork(unix.SYS_CLONE, uintptr(p.clone.flags)|uintptr(unix.SIGCHLD), 0, uintptr(unsafe.Pointer(&p.pidfd)))
	}
	if code != 0 || pid != 0 {
		afterFork()
		exitSyscall()
		return pid, syscall.Errno(code)
	}
	afterForkInChild()
	child(p)
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 253, 0, 0)
	}
}

// Unclaimed are the signals that Go's runtime leaves alone, and so does not reset
// in a child either. The caller may ignore them: every command gets them back.
var Unclaimed = [...]syscall.Signal{32, 34}

// defaultAction is the kernel's struct sigaction for a signal's default.
var defaultAction struct{ handler, flags, restorer, mask uintptr }

// child does what lies between fork and exec, and returns only on failure.
//
//go:nosplit
//go:norace
//go:nocheckptr
func child(p *plan) {
	var e syscall.Errno
	for i := range Unclaimed {
		syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(Unclaimed[i]), uintptr(unsafe.Pointer(&defaultAction)), 0, unsafe.Sizeof(defaultAction.mask), 0, 0)
	}
	if p.subreaper {
		syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0, 0)
	}
	if _, _, e = syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0); e != 0 {
		p.fail(stepSession, e)
		return
	}
	for i := range p.files {
		if _, _, e = syscall.RawSyscall(unix.SYS_DUP3, p.files[i].from, p.files[i].to, 0); e != 0 {
			p.fail(stepFiles, e)
			return
		}
	}
	if p.terminal {
		if _, _, e = syscall.RawSyscall(unix.SYS_IOCTL, 0, unix.TIOCSCTTY, 0); e != 0 {
			p.fail(stepFiles, e)
			return
		}
	}
	for i := range p.rlimits {
		r := &p.rlimits[i]
		if _, _, e = syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, r.Resource, uintptr(unsafe.Pointer(&r.Value)), 0, 0, 0); e != 0 {
			p.fail(stepLimits, e)
			return
		}
	}
	if p.groups != nil {
		var list unsafe.Pointer
		if len(p.groups) > 0 {
			list = unsafe.Pointer(&p.groups[0])
		}
		if _, _, e = syscall.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(p.groups)), uintptr(list), 0); e != 0 {
			p.fail(stepUser, e)
			return
		}
	}
	if p.uid != 0 || p.gid != 0 {
		_, _, e = syscall.RawSyscall(unix.SYS_SETRESGID, p.gid, p.gid, p.gid)
		if e == 0 {
			_, _, e = syscall.RawSyscall(unix.SYS_SETRESUID, p.uid, p.uid, p.uid)
		}
		if e != 0 {
			p.fail(stepUser, e)
			return
		}
		// Until the exec our memory is our parent's. Where fs.suid_dumpable is 1 the
		// kernel has just opened it to processes of the new user.
		syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0, 0, 0, 0)
	}
	if len(p.ambient) > 0 {
		_, _, e = syscall.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&p.header)), uintptr(unsafe.Pointer(&p.caps)), 0)
		for i := 0; e == 0 && i < len(p.ambient); i++ {
			_, _, e = syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, p.ambient[i], 0, 0, 0)
		}
		if e != 0 {
			p.fail(stepCapabilities, e)
			return
		}
	}
	if p.dir != nil {
		if _, _, e = syscall.RawSyscall(unix.SYS_CHDIR, uintptr(unsafe.Pointer(p.dir)), 0, 0); e != 0 {
			p.fail(stepDirectory, e)
			return
		}
	}
	_, _, e = syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(p.path)), uintptr(unsafe.Pointer(p.argv)), uintptr(unsafe.Pointer(p.envp)))
	p.fail(stepExec, e)
}

//go:norace
//go:nosplit
func (p *plan) fail(step int, e syscall.Errno) { p.failedStep, p.failed = step, e }
