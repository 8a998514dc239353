package main

import (
	"os"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

func call(nr uintptr, args ...uintptr) (uintptr, error) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, e := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if e != 0 {
		return 0, e
	}
	return r, nil
}

func traceAttempts() []attempt {
	return []attempt{
		{"ptrace attach", func() (string, error) { return "", trace(unix.PTRACE_ATTACH, 1) }},
		{"ptrace seize", func() (string, error) { return "", trace(unix.PTRACE_SEIZE, 1) }},
		{"ptrace attach to a thread", func() (string, error) {
			tid, _ := strconv.Atoi(otherThread())
			return "", trace(unix.PTRACE_ATTACH, tid)
		}},
		{"process_vm_readv", func() (string, error) { return "", vmCall(unix.SYS_PROCESS_VM_READV) }},
		{"process_vm_writev", func() (string, error) { return "", vmCall(unix.SYS_PROCESS_VM_WRITEV) }},
		{"pidfd_getfd", func() (string, error) {
			pidfd, err := unix.PidfdOpen(1, 0)
			if err != nil {
				return "", err
			}
			defer unix.Close(pidfd)
			for fd := range 32 {
				got, err := unix.PidfdGetfd(pidfd, fd, 0)
				if err == nil {
					return "descriptor " + strconv.Itoa(fd), unix.Close(got)
				}
				if err != unix.EBADF {
					return "", err
				}
			}
			return "", unix.EBADF
		}},
		{"kcmp", func() (string, error) {
			const kcmpFiles = 2
			_, err := call(unix.SYS_KCMP, uintptr(os.Getpid()), 1, kcmpFiles)
			return "", err
		}},
		{"prlimit of PID 1", func() (string, error) { return "", lowerLimit(1, unix.RLIMIT_CORE) }},
		{"prlimit of a thread of PID 1", func() (string, error) {
			tid, _ := strconv.Atoi(otherThread())
			return "", lowerLimit(tid, unix.RLIMIT_CORE)
		}},
	}
}

// trace attaches, and lets go again: a control whose thread stays stopped hangs.
func trace(how uintptr, tid int) error {
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	if _, err := call(unix.SYS_PTRACE, how, uintptr(tid)); err != nil {
		return err
	}
	if how == unix.PTRACE_SEIZE {
		if _, err := call(unix.SYS_PTRACE, unix.PTRACE_INTERRUPT, uintptr(tid)); err != nil {
			return err
		}
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(tid, &status, unix.WALL, nil); err != nil {
		return err
	}
	_, err := call(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(tid))
	return err
}

// beTraced makes its parent its tracer. Whoever does not know of that takes the stop
// for an end, and leaves it stopped.
func beTraced() {
	runtime.LockOSThread() // which is the first, here
	if _, err := call(unix.SYS_PTRACE, unix.PTRACE_TRACEME); err != nil {
		os.Exit(1)
	}
	unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGURG)
	os.Exit(7)
}

// vmCall reads or writes memory of PID 1 where the kernel always maps something.
func vmCall(nr uintptr) error {
	buf := make([]byte, 8)
	local := unix.Iovec{Base: &buf[0], Len: 8}
	remote := unix.RemoteIovec{Base: writablePage(), Len: 8}
	if nr == unix.SYS_PROCESS_VM_WRITEV {
		// What is there is put back: reading it first also shows that it may.
		if _, err := call(unix.SYS_PROCESS_VM_READV, 1, uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0); err != nil {
			return err
		}
	}
	_, err := call(nr, 1, uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	return err
}

// writablePage is in our own data, which the control shares: it is this program.
// In a sandbox any address does.
var page [8]byte

func writablePage() uintptr { return uintptr(unsafe.Pointer(&page)) }

// lowerLimit lowers a limit to what it is: enough to see whether it may be set.
func lowerLimit(pid, resource int) error {
	var old unix.Rlimit
	if err := unix.Prlimit(pid, resource, nil, &old); err != nil {
		return err
	}
	return unix.Prlimit(pid, resource, &old, nil)
}

func escapeAttempts() []attempt {
	mount := func(kind, target string) func() (string, error) {
		return func() (string, error) { return "", unix.Mount(kind, target, kind, 0, "") }
	}
	return []attempt{
		{"mount tmpfs", mount("tmpfs", "/mnt")},
		{"mount cgroup2", mount("cgroup2", "/mnt")},
		{"mount proc", mount("proc", "/mnt")},
		{"remount / writable", func() (string, error) { return "", unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
		{"setns to PID 1", func() (string, error) {
			fd, err := unix.Open("/proc/1/ns/uts", unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return "", err
			}
			defer unix.Close(fd)
			return "", unix.Setns(fd, 0)
		}},
		{"unshare user", func() (string, error) { return "", unshareInChild(unix.CLONE_NEWUSER) }},
		{"unshare mount", func() (string, error) { return "", unshareInChild(unix.CLONE_NEWNS) }},
		{"chroot", func() (string, error) { return "", unix.Chroot("/") }},
		{"mknod of a block device", func() (string, error) {
			defer os.Remove("/tmp/attack.dev")
			return "", unix.Mknod("/tmp/attack.dev", unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0)))
		}},
		{"type into the terminal", func() (string, error) {
			c := byte('\n')
			_, err := call(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
			return "", err
		}},
		{"bpf", func() (string, error) {
			var attr [128]byte
			attr[0], attr[4], attr[8], attr[12] = 2, 4, 4, 1 // an array of one 4-byte value
			fd, err := call(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), uintptr(len(attr)))
			if err == nil {
				unix.Close(int(fd))
			}
			return "", err
		}},
		{"open_by_handle_at", func() (string, error) {
			handle, id, err := unix.NameToHandleAt(unix.AT_FDCWD, "/", 0)
			_ = id
			if err != nil {
				return "", err
			}
			dir, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0)
			if err != nil {
				return "", err
			}
			defer unix.Close(dir)
			fd, err := unix.OpenByHandleAt(dir, handle, unix.O_RDONLY)
			if err == nil {
				unix.Close(fd)
			}
			return "", err
		}},
	}
}

func unshareInChild(flags uintptr) error {
	// In a child, so that what follows is not changed by a success.
	pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 {
		return e
	}
	if pid == 0 {
		_, _, e := unix.RawSyscall(unix.SYS_UNSHARE, flags, 0, 0)
		for {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(e), 0, 0)
		}
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(int(pid), &status, 0, nil); err != nil {
		return err
	}
	if status.ExitStatus() != 0 {
		return unix.Errno(status.ExitStatus())
	}
	return nil
}
