package main

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// x32 marks a call by the table of x32.
const x32 = 0x40000000

var tableAttempts = []attempt{
	{name: "a 32-bit call (int 0x80)", try: func(world) error {
		const getpid = 20
		if r := int80(getpid); int32(r) < 0 {
			return syscall.Errno(-int32(r))
		}
		return nil
	}, refused: []syscall.Errno{unix.ENOSYS}},
	{name: "an x32 call", try: just(x32 | unix.SYS_GETPID), refused: []syscall.Errno{unix.ENOSYS}},
	{name: "user namespace by the guest's own instruction", try: borrowed(unix.CLONE_NEWUSER), refused: append(full, unix.ENOSYS)},
	{name: "mount namespace by the guest's own instruction", try: borrowed(unix.CLONE_NEWNS), refused: []syscall.Errno{unix.ENOSYS}},
	{name: "network namespace by the guest's own instruction", try: borrowed(unix.CLONE_NEWNET), refused: []syscall.Errno{unix.ENOSYS}},
}

// borrowed makes namespaces by clone3 from the address at which the guest's filter
// allows it: a program can have code of its own there.
func borrowed(flags uint64) func(world) error {
	return func(w world) error {
		if w.Fork == 0 {
			return unix.ENODATA
		}
		code := []byte{0x0f, 0x05, 0xc3} // syscall, ret
		start := w.Fork - 2              // the kernel sees the address behind the instruction
		page := start &^ 0xfff
		const length = 2 << 12
		fd, err := unix.MemfdCreate("code", 0)
		if err == nil {
			err = unix.Ftruncate(fd, length)
		}
		if err == nil {
			_, err = unix.Pwrite(fd, code, int64(start-page))
		}
		if err == nil {
			_, err = call(unix.SYS_MMAP, page, length, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_FIXED_NOREPLACE, uintptr(fd), 0)
		}
		if err != nil {
			return err
		}
		args := struct{ flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls uint64 }{flags: flags, exitSignal: uint64(unix.SIGCHLD)}
		runtime.LockOSThread()
		r := int(callAt(start, unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args)))
		switch {
		case r < 0:
			return syscall.Errno(-r)
		case r == 0:
			for {
				unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
		}
		return childErrno(r)
	}
}

// callAt makes a system call by an instruction somewhere else.
func callAt(at, number, a1, a2 uintptr) uintptr

// int80 makes a call without arguments as 32-bit programs do.
func int80(number uintptr) uintptr

func inputOutput(world) error {
	_, err := call(unix.SYS_IOPL, 3)
	return err
}
