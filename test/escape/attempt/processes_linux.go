package main

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func ofProcess(pid int, file string) string { return "/proc/" + strconv.Itoa(pid) + "/" + file }

var processAttempts = []attempt{
	{name: "ptrace", try: func(w world) error { return trace(w.Outside) }, refused: gone},
	{name: "process_vm_readv", try: func(w world) error { return readMemory(w.Outside, w.Address) }, refused: gone},
	{name: "process_vm_writev", try: func(w world) error { return writeMemory(w.Outside, w.Address) }, refused: gone},
	{name: "pidfd_getfd", try: func(w world) error { return takeDescriptor(w.Outside) }, refused: gone},
	{name: "kcmp", try: func(w world) error { return compare(w.Outside) }, refused: gone},
	{name: "signal", try: func(w world) error { return unix.Kill(w.Outside, 0) }, refused: gone},
	{name: "signal through a pidfd", try: func(w world) error {
		fd, err := unix.PidfdOpen(w.Outside, 0)
		if err != nil {
			return err
		}
		return unix.PidfdSendSignal(fd, 0, nil, 0)
	}, refused: gone},
	{name: "lower its limits", try: func(w world) error { return relimit(w.Outside) }, refused: gone},
	{name: "its priority", try: func(w world) error { return unix.Setpriority(unix.PRIO_PROCESS, w.Outside, 0) }, refused: gone},
	{name: "its root directory", try: func(w world) error { return openFile(ofProcess(w.Outside, "root/etc"), unix.O_RDONLY) }, refused: gone},
	{name: "its memory as a file", try: func(w world) error { return openFile(ofProcess(w.Outside, "mem"), unix.O_RDWR) }, refused: gone},
	{name: "its environment", try: func(w world) error { return openFile(ofProcess(w.Outside, "environ"), unix.O_RDONLY) }, refused: gone},
	{name: "its descriptors", try: func(w world) error { return openFile(ofProcess(w.Outside, "fd/0"), unix.O_RDONLY) }, refused: gone},
	{name: "System V shared memory", try: func(w world) error {
		_, err := unix.SysvShmGet(w.SharedMemory, 0, 0)
		return err
	}, refused: gone},
	{name: "inherited descriptors", try: inheritedDescriptors, refused: gone},
}

// inheritedDescriptors looks for one beside the three that every command has. Some
// above are Go's own.
func inheritedDescriptors(world) error {
	for fd := 3; fd < 64; fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			return nil
		}
	}
	return unix.ENOENT
}

var guestAttempts = []attempt{
	{name: "ptrace", try: func(w world) error { return trace(w.Guest) }},
	{name: "process_vm_readv", try: func(w world) error { return readMemory(w.Guest, w.Address) }},
	{name: "process_vm_writev", try: func(w world) error { return writeMemory(w.Guest, w.Address) }},
	{name: "pidfd_getfd", try: func(w world) error { return takeDescriptor(w.Guest) }},
	{name: "kcmp", try: func(w world) error { return compare(w.Guest) }},
	{name: "lower its limits", try: func(w world) error { return relimit(w.Guest) }},
	{name: "/proc/1/root", try: func(w world) error { return openFile(ofProcess(w.Guest, "root/etc"), unix.O_RDONLY) }},
	{name: "/proc/1/cwd", try: func(w world) error { return openFile(ofProcess(w.Guest, "cwd/."), unix.O_RDONLY) }},
	{name: "/proc/1/fd/0", try: func(w world) error { return openFile(ofProcess(w.Guest, "fd/0"), unix.O_RDONLY) }},
	{name: "/proc/1/mem", try: func(w world) error { return openFile(ofProcess(w.Guest, "mem"), unix.O_RDWR) }, refused: readOnly},
	{name: "/proc/1/environ", try: func(w world) error { return openFile(ofProcess(w.Guest, "environ"), unix.O_RDONLY) }},
	{name: "overwrite its program", try: func(w world) error { return openFile(ofProcess(w.Guest, "exe"), unix.O_WRONLY) }, past: []syscall.Errno{unix.ETXTBSY}},
	{name: "offer it to the kernel to kill first", try: func(w world) error { return rewrite(ofProcess(w.Guest, "oom_score_adj")) }, refused: readOnly},
}

// trace attaches without stopping, and lets go with this process.
func trace(pid int) error {
	runtime.LockOSThread()
	_, err := call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid))
	return err
}

func vectors(address uintptr) (*unix.Iovec, *unix.RemoteIovec) {
	buf := make([]byte, len(canary))
	return &unix.Iovec{Base: &buf[0], Len: uint64(len(buf))}, &unix.RemoteIovec{Base: address, Len: len(buf)}
}

func readMemory(pid int, address uintptr) error {
	here, there := vectors(address)
	_, err := call(unix.SYS_PROCESS_VM_READV, uintptr(pid), uintptr(unsafe.Pointer(here)), 1, uintptr(unsafe.Pointer(there)), 1, 0)
	return err
}

func writeMemory(pid int, address uintptr) error {
	here, there := vectors(address) // zeroes, as are there
	_, err := call(unix.SYS_PROCESS_VM_WRITEV, uintptr(pid), uintptr(unsafe.Pointer(here)), 1, uintptr(unsafe.Pointer(there)), 1, 0)
	return err
}

func takeDescriptor(pid int) error {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	return opened(unix.PidfdGetfd(pidfd, 0, 0))
}

func compare(pid int) error {
	const files = 2
	_, err := call(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(pid), files)
	return err
}

// relimit sets a limit to what it is.
func relimit(pid int) error {
	var old unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &old); err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_CORE, &old, nil)
}
