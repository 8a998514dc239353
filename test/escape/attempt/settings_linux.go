package main

import (
	"bytes"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func ofDescriptor(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func rewritten(path string) func(world) error { return func(world) error { return rewrite(path) } }

var closed = append([]syscall.Errno{unix.EROFS}, gone...)

// settingAttempts write what is already there.
var settingAttempts = []attempt{
	{name: "core_pattern", try: rewritten("/proc/sys/kernel/core_pattern"), refused: closed},
	{name: "modprobe", try: rewritten("/proc/sys/kernel/modprobe"), refused: closed},
	{name: "overcommit_memory", try: rewritten("/proc/sys/vm/overcommit_memory"), refused: closed},
	{name: "ip_forward", try: rewritten("/proc/sys/net/ipv4/ip_forward"), refused: closed},
	{name: "max_user_namespaces", try: rewritten("/proc/sys/user/max_user_namespaces"), refused: closed},
	{name: "binfmt_misc", try: func(w world) error {
		if err := unix.Mount("binfmt_misc", w.Mountpoint, "binfmt_misc", 0, ""); err != nil {
			return err
		}
		return openFile(w.Mountpoint+"/register", unix.O_WRONLY)
	}},
	{name: "sysrq-trigger", try: func(world) error { return openFile("/proc/sysrq-trigger", unix.O_WRONLY) }, refused: closed},
	{name: "/sys", try: rewritten("/sys/kernel/mm/ksm/run"), refused: closed},
	{name: "/sys/kernel/debug", try: func(world) error { return openFile("/sys/kernel/debug", unix.O_RDONLY) }, refused: gone},
	{name: "/sys/kernel/tracing", try: func(world) error { return openFile("/sys/kernel/tracing", unix.O_RDONLY) }, refused: gone},
	{name: "clock_adjtime", try: func(world) error {
		const tick = 0x4000 // ADJ_TICK; a tick of 0 is out of range
		_, err := unix.ClockAdjtime(unix.CLOCK_REALTIME, &unix.Timex{Modes: tick})
		return err
	}, past: []syscall.Errno{unix.EINVAL}},
	{name: "clock_settime", try: func(world) error {
		never := unix.Timespec{Nsec: 2e9} // no time has so many nanoseconds
		_, err := call(unix.SYS_CLOCK_SETTIME, unix.CLOCK_REALTIME, uintptr(unsafe.Pointer(&never)))
		return err
	}, past: []syscall.Errno{unix.EINVAL}},
	{name: "settimeofday", try: just(unix.SYS_SETTIMEOFDAY, badAddress, 0), past: []syscall.Errno{unix.EFAULT}},
	{name: "swapon", try: named(unix.SYS_SWAPON), past: []syscall.Errno{unix.ENOENT}},
	{name: "acct", try: named(unix.SYS_ACCT), past: []syscall.Errno{unix.ENOENT}},
	{name: "quotactl", try: func(world) error {
		const getInfo = 0x80000500
		p, _ := unix.BytePtrFromString(noFile)
		_, err := call(unix.SYS_QUOTACTL, getInfo, uintptr(unsafe.Pointer(p)), 0, 0)
		return err
	}, past: []syscall.Errno{unix.ENOENT, unix.ENOTBLK, unix.ENODEV}},
	{name: "reboot", try: just(unix.SYS_REBOOT, bad, bad, bad, 0), past: []syscall.Errno{unix.EINVAL}},
}

const noFile = "/proc/self/no-such-file"

func named(number uintptr) func(world) error {
	return func(world) error {
		p, err := unix.BytePtrFromString(noFile)
		if err != nil {
			return err
		}
		_, err = call(number, uintptr(unsafe.Pointer(p)), 0)
		return err
	}
}

var deviceAttempts = []attempt{
	{name: "mknod of a disk", try: makeDevice(unix.S_IFBLK, 8, 0)},
	{name: "mknod of memory", try: makeDevice(unix.S_IFCHR, 1, 1)},
	{name: "open a disk", try: func(w world) error {
		if w.Disk == "" {
			return unix.ENODATA
		}
		return openFile(w.Disk, unix.O_RDONLY)
	}, refused: gone},
	{name: "/dev/mem", try: func(world) error { return openFile("/dev/mem", unix.O_RDONLY) }, refused: gone},
	{name: "/dev/kmsg", try: func(world) error { return openFile("/dev/kmsg", unix.O_RDONLY) }, refused: gone},
	{name: "/dev/fuse", try: func(world) error { return openFile("/dev/fuse", unix.O_RDWR) }, refused: gone},
	{name: "/dev/net/tun", try: func(world) error { return openFile("/dev/net/tun", unix.O_RDWR) }, refused: gone},
	{name: "/dev/loop-control", try: func(world) error { return openFile("/dev/loop-control", unix.O_RDWR) }, refused: gone},
	{name: "/proc/kcore", try: func(world) error { return firstByte("/proc/kcore") }, refused: gone},
	{name: "/proc/keys", try: func(world) error { return firstByte("/proc/keys") }, refused: gone},
	{name: "/proc/interrupts", try: func(world) error { return firstByte("/proc/interrupts") }, refused: gone},
	{name: "/proc/vmallocinfo", try: func(world) error { return firstByte("/proc/vmallocinfo") }, refused: gone},
	{name: "/proc/kpagecount", try: func(world) error { return openFile("/proc/kpagecount", unix.O_RDONLY) }, refused: gone},
	{name: "addresses in /proc/kallsyms", try: kernelAddresses, refused: gone},
	{name: "ports (iopl)", try: inputOutput, refused: []syscall.Errno{unix.ENOSYS}},
}

func makeDevice(kind uint32, major, minor uint32) func(world) error {
	return func(w world) error {
		name := w.Shared + "/device"
		err := unix.Mknod(name, kind|0o600, int(unix.Mkdev(major, minor)))
		if err == nil {
			err = unix.Unlink(name)
		}
		return err
	}
}

// firstByte reads it: a file that is hidden has none.
func firstByte(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, make([]byte, 1))
	if err == nil && n == 0 {
		err = unix.ENOENT
	}
	return err
}

func kernelAddresses(world) error {
	fd, err := unix.Open("/proc/kallsyms", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	buf := make([]byte, 4096)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(buf[:n]) {
		if address, _, ok := bytes.Cut(line, []byte(" ")); ok && len(bytes.Trim(address, "0")) > 0 {
			return nil
		}
	}
	return unix.ENOENT
}

var cgroupAttempts = []attempt{
	{name: "mount cgroup2", try: mount("cgroup2", "")},
	{name: "the release agent", try: func(w world) error {
		if err := unix.Mount("cgroup", w.Mountpoint, "cgroup", 0, "none,name=hermes-escape"); err != nil {
			return err
		}
		return rewrite(w.Mountpoint + "/release_agent")
	}, past: []syscall.Errno{unix.EINVAL}},
	{name: "move to another cgroup", try: anyOf("/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/cgroup.procs"), refused: closed},
	{name: "make a cgroup", try: func(world) error {
		const dir = "/sys/fs/cgroup/hermes-escape"
		err := unix.Mkdir(dir, 0o755)
		if err == nil {
			err = unix.Rmdir(dir)
		}
		return err
	}, refused: closed},
}

// anyOf opens for writing the first of the files that is there.
func anyOf(paths ...string) func(world) error {
	return func(world) (err error) {
		for _, path := range paths {
			if err = openFile(path, unix.O_WRONLY); err != unix.ENOENT {
				break
			}
		}
		return err
	}
}
