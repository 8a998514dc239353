package main

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func mount(kind, options string) func(world) error {
	return func(w world) error { return unix.Mount(kind, w.Mountpoint, kind, 0, options) }
}

var mountAttempts = []attempt{
	{name: "mount tmpfs", try: mount("tmpfs", "")},
	{name: "mount proc", try: mount("proc", "")},
	{name: "mount sysfs", try: mount("sysfs", "")},
	{name: "mount debugfs", try: mount("debugfs", "")},
	{name: "mount tracefs", try: mount("tracefs", "")},
	{name: "mount overlay", try: func(w world) error {
		return unix.Mount("overlay", w.Mountpoint, "overlay", 0, "lowerdir=/usr:/etc")
	}},
	{name: "bind mount", try: func(w world) error { return unix.Mount("/usr", w.Mountpoint, "", unix.MS_BIND, "") }},
	{name: "remount / writable", try: func(world) error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
	{name: "make a read-only mount writable (mount_setattr)", try: func(world) error {
		return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
	}},
	{name: "unshare mounts, then remount", try: func(w world) error {
		if err := unshare(unix.CLONE_NEWNS); err != nil {
			return err
		}
		return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "")
	}},
	{name: "unmount", try: func(w world) error { return unix.Unmount(w.Shared, 0) }, past: []syscall.Errno{unix.EINVAL}},
	{name: "open_tree", try: func(world) error {
		return opened(unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE|unix.AT_RECURSIVE))
	}},
	{name: "fsopen", try: func(world) error { return opened(unix.Fsopen("tmpfs", 0)) }},
	{name: "fspick", try: func(world) error { return opened(unix.Fspick(unix.AT_FDCWD, "/", 0)) }},
	{name: "move_mount", try: func(world) error { return unix.MoveMount(-1, "x", -1, "x", 0) }, past: []syscall.Errno{unix.EBADF}},
	{name: "pivot_root", try: func(world) error { return unix.PivotRoot("/proc/self", "/proc/self") }, past: []syscall.Errno{unix.EINVAL, unix.EBUSY}},
	{name: "freeze a file system of the host", try: func(w world) error {
		const thaw = 0xc0045878 // FITHAW; it is not frozen
		fd, err := unix.Open(w.Shared, unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.IoctlSetInt(fd, thaw, 0)
	}, past: []syscall.Errno{unix.EINVAL, unix.EOPNOTSUPP}},
	{name: "chroot", try: func(world) error { return unix.Chroot("/") }},
	{name: "open_by_handle_at", try: func(world) error {
		handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/usr", 0)
		if err != nil {
			handle = unix.NewFileHandle(1, make([]byte, 8)) // rights are looked at before handles
		}
		dir, err := unix.Open("/usr", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		return opened(unix.OpenByHandleAt(dir, handle, unix.O_RDONLY))
	}},
}

// unshare works on the calling thread, which ends with this process.
func unshare(flags int) error {
	runtime.LockOSThread()
	return unix.Unshare(flags)
}

func unshared(flags int) func(world) error { return func(world) error { return unshare(flags) } }

// full are the answers where the number of namespaces is limited to none.
var full = []syscall.Errno{unix.ENOSPC, unix.EUSERS}

var namespaceAttempts = []attempt{
	{name: "new user namespace (clone)", try: cloneUser, refused: full},
	{name: "new user namespace (clone3)", try: clone3User, refused: append(full, unix.ENOSYS)},
	{name: "new user namespace (unshare)", try: unshareUser, refused: full},
	{name: "unshare mounts", try: unshared(unix.CLONE_NEWNS)},
	{name: "unshare pids", try: unshared(unix.CLONE_NEWPID)},
	{name: "unshare network", try: unshared(unix.CLONE_NEWNET)},
	{name: "unshare ipc", try: unshared(unix.CLONE_NEWIPC)},
	{name: "unshare cgroups", try: unshared(unix.CLONE_NEWCGROUP)},
	{name: "unshare time", try: unshared(unix.CLONE_NEWTIME), refused: []syscall.Errno{unix.EINVAL}},
	{name: "join a namespace of the host", try: func(w world) error {
		runtime.LockOSThread()
		fd, err := unix.Open(ofProcess(w.Outside, "ns/uts"), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Setns(fd, 0)
	}, refused: gone},
	{name: "join the guest's namespace", try: func(w world) error {
		runtime.LockOSThread()
		fd, err := unix.Open(ofProcess(w.Guest, "ns/uts"), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Setns(fd, 0)
	}},
	{name: "join the guest's namespaces through a pidfd", try: func(w world) error {
		runtime.LockOSThread()
		fd, err := unix.PidfdOpen(w.Guest, 0)
		if err != nil {
			return err
		}
		return unix.Setns(fd, unix.CLONE_NEWUTS|unix.CLONE_NEWIPC)
	}},
	{name: "set the host name", try: just(unix.SYS_SETHOSTNAME, badAddress, 1<<16), past: []syscall.Errno{unix.EINVAL}},
}

// forked runs one system call in a child that has one thread only.
func forked(number, a1, a2 uintptr) error {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		_, _, errno := unix.RawSyscall(number, a1, a2, 0)
		for {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(errno), 0, 0)
		}
	}
	return childErrno(int(pid))
}

func childErrno(pid int) error {
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil {
		return err
	}
	if code := status.ExitStatus(); code != 0 {
		return unix.Errno(code)
	}
	return nil
}

func unshareUser(world) error { return forked(unix.SYS_UNSHARE, unix.CLONE_NEWUSER, 0) }

func cloneUser(world) error {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD)|unix.CLONE_NEWUSER, 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		for {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	return childErrno(int(pid))
}

func clone3User(world) error {
	args := struct{ flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls uint64 }{flags: unix.CLONE_NEWUSER, exitSignal: uint64(unix.SIGCHLD)}
	pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		for {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	return childErrno(int(pid))
}
