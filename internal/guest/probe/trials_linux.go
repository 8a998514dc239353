package probe

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/wire"
)

// trial is something that a command should not be able to do. Its arguments are
// such that a success changes nothing: the kernel looks at rights first, and then
// finds a file system that does not exist, a bad address, a wrong number; or what
// was made ends with this process.
type trial struct {
	name string
	try  func() error
	// also are answers, besides the usual ones, that mean a refusal.
	also []syscall.Errno
}

// refusals are the answers of a kernel or a filter that does not allow a thing,
// or does not have it.
var refusals = []syscall.Errno{unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EROFS}

func tryAll() []wire.Trial {
	runtime.LockOSThread() // some change their thread; it ends with the process
	var tried []wire.Trial
	for _, t := range slices.Concat(mountTrials, namespaceTrials, guestTrials, kernelTrials, socketTrials, fileTrials, selfTrials) {
		err := t.try()
		answer := wire.Trial{Name: t.name, Answer: "success"}
		var errno syscall.Errno
		if errors.As(err, &errno) {
			answer.Answer = unix.ErrnoName(errno)
			answer.Refused = slices.Contains(refusals, errno) || slices.Contains(t.also, errno)
		} else if err != nil {
			answer.Answer = err.Error()
		}
		tried = append(tried, answer)
	}
	return tried
}

func call(number uintptr, args ...uintptr) (uintptr, error) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return 0, errno
	}
	return r, nil
}

// just makes a call for its answer alone.
func just(number uintptr, args ...uintptr) func() error {
	return func() error {
		_, err := call(number, args...)
		return err
	}
}

// opened makes a call that returns a descriptor, and closes that.
func opened(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func openFile(path string, flags int) error {
	return opened(unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0))
}

// badAddress is an argument that the kernel cannot read, bad a number that fits nothing.
const (
	badAddress = 1
	bad        = ^uintptr(0)
)

// noDir is a directory that is no mount point.
const noDir = "/proc/self"

var mountTrials = []trial{
	{name: "mount", try: func() error { return unix.Mount("none", "/", "hermes-none", 0, "") }},
	{name: "remount", try: func() error { return unix.Mount("none", noDir, "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
	{name: "umount", try: func() error { return unix.Unmount(noDir, 0) }},
	{name: "pivot_root", try: func() error { return unix.PivotRoot(noDir, noDir) }},
	{name: "open_tree", try: func() error {
		return opened(unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC))
	}},
	{name: "fsopen", try: func() error { return opened(unix.Fsopen("hermes-none", unix.FSOPEN_CLOEXEC)) }},
	{name: "move_mount", try: func() error { return unix.MoveMount(-1, "", -1, "", 0) }},
	{name: "mount_setattr", try: func() error {
		root := [2]byte{'/'}
		_, err := call(unix.SYS_MOUNT_SETATTR, bad, uintptr(unsafe.Pointer(&root)), 0, badAddress, unsafe.Sizeof(unix.MountAttr{}))
		return err
	}},
	{name: "chroot", try: func() error { return unix.Chroot("/") }},
}

var namespaceTrials = []trial{
	{name: "new user namespace", try: newUserNamespace, also: []syscall.Errno{unix.ENOSPC}},
	{name: "unshare", try: func() error { return unix.Unshare(unix.CLONE_NEWUTS) }, also: []syscall.Errno{unix.ENOSPC}},
	{name: "setns", try: func() error {
		fd, err := unix.Open("/proc/self/ns/uts", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Setns(fd, 0)
	}},
	{name: "sethostname", try: just(unix.SYS_SETHOSTNAME, badAddress, 1<<16)},
}

func newUserNamespace() error {
	child, err := os.StartProcess("/proc/self/exe", []string{"hermes-guest", Mode, nothing},
		&os.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}})
	if err == nil {
		_, err = child.Wait()
	}
	return err
}

// guestTrials are about whoever started us, which is what a hostile command would
// take over first.
var guestTrials = []trial{
	{name: "read the guest's memory", try: func() error {
		here, there := unix.Iovec{Base: new(byte), Len: 1}, unix.RemoteIovec{Base: badAddress, Len: 1}
		_, err := call(unix.SYS_PROCESS_VM_READV, uintptr(os.Getppid()), uintptr(unsafe.Pointer(&here)), 1, uintptr(unsafe.Pointer(&there)), 1, 0)
		return err
	}},
	{name: "open the guest's memory", try: func() error { return openFile(ofGuest("mem"), unix.O_RDWR) }},
	{name: "read the guest's environment", try: func() error { return openFile(ofGuest("environ"), unix.O_RDONLY) }},
	{name: "take the guest's descriptors", try: func() error {
		pidfd, err := unix.PidfdOpen(os.Getppid(), 0)
		if err != nil {
			return err
		}
		defer unix.Close(pidfd)
		return opened(unix.PidfdGetfd(pidfd, 1<<20, 0))
	}},
	{name: "compare with the guest (kcmp)", try: func() error {
		const noType = 99
		_, err := call(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(os.Getppid()), noType)
		return err
	}},
	{name: "limit the guest's resources", try: func() error {
		const noResource = 99
		return unix.Prlimit(os.Getppid(), noResource, &unix.Rlimit{}, nil)
	}},
}

func ofGuest(file string) string { return "/proc/" + strconv.Itoa(os.Getppid()) + "/" + file }

var kernelTrials = []trial{
	{name: "bpf", try: func() error {
		attr := [32]uint32{2, 4, 4, 1} // an array of one value of four bytes
		fd, err := call(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
		return opened(int(fd), err)
	}},
	{name: "perf_event_open", try: func() error {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Bits: unix.PerfBitExcludeKernel | unix.PerfBitDisabled}
		return opened(unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC))
	}},
	{name: "userfaultfd", try: func() error {
		const userModeOnly = 1
		fd, err := call(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|userModeOnly)
		return opened(int(fd), err)
	}},
	{name: "io_uring_setup", try: func() error {
		var params [120]byte
		fd, err := call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
		return opened(int(fd), err)
	}},
	{name: "keyctl", try: func() error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
		return err
	}},
	{name: "add_key", try: func() error {
		_, err := unix.AddKey("user", "hermes-probe", []byte{0}, unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	}},
	{name: "init_module", try: just(unix.SYS_INIT_MODULE, badAddress, 1, badAddress)},
	{name: "finit_module", try: just(unix.SYS_FINIT_MODULE, bad, badAddress, 0)},
	{name: "kexec_load", try: just(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0xff00)},
	{name: "set the clock", try: func() error {
		const tick = 0x4000 // ADJ_TICK, and a tick of 0 is out of range
		_, err := unix.ClockAdjtime(unix.CLOCK_REALTIME, &unix.Timex{Modes: tick})
		return err
	}},
	{name: "reboot", try: just(unix.SYS_REBOOT, bad, bad, bad, 0)},
	{name: "swapon", try: func() error { return path(unix.SYS_SWAPON, noFile) }},
	{name: "acct", try: func() error { return path(unix.SYS_ACCT, noFile) }},
	{name: "syslog", try: func() error {
		const sizeOfBuffer = 10
		_, err := unix.Klogctl(sizeOfBuffer, nil)
		return err
	}},
	{name: "fanotify_init", try: func() error { return opened(unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC, unix.O_RDONLY)) }},
	{name: "open_by_handle_at", try: func() error {
		handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/", 0)
		if err != nil {
			handle = unix.NewFileHandle(1, make([]byte, 8)) // rights are looked at before handles
		}
		return opened(unix.OpenByHandleAt(unix.AT_FDCWD, handle, unix.O_RDONLY|unix.O_CLOEXEC))
	}},
}

const noFile = "/proc/self/hermes-none"

func path(number uintptr, name string) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	_, err = call(number, uintptr(unsafe.Pointer(p)), 0)
	return err
}

// noSuchSocket are the answers of a kernel without a kind of socket.
var noSuchSocket = []syscall.Errno{unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT, unix.ESOCKTNOSUPPORT}

var socketTrials = []trial{
	{name: "raw socket", try: socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP), also: noSuchSocket},
	{name: "packet socket", try: socket(unix.AF_PACKET, unix.SOCK_RAW, 0), also: noSuchSocket},
	{name: "vsock socket", try: socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0), also: noSuchSocket},
}

func socket(family, kind, protocol int) func() error {
	return func() error { return opened(unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)) }
}

// fileTrials open and write nothing.
var fileTrials = []trial{
	{name: "write core_pattern", try: func() error { return openFile("/proc/sys/kernel/core_pattern", unix.O_WRONLY) }},
	{name: "write sysrq-trigger", try: func() error { return openFile("/proc/sysrq-trigger", unix.O_WRONLY) }, also: absent},
	{name: "write /sys", try: func() error { return openFile("/sys/kernel/mm/ksm/run", unix.O_WRONLY) }, also: absent},
	{name: "move to another cgroup", try: func() error { return openFile("/sys/fs/cgroup/cgroup.procs", unix.O_WRONLY) }, also: absent},
	{name: "read kcore", try: readKcore, also: absent},
	{name: "open /dev/mem", try: func() error { return openFile("/dev/mem", unix.O_RDONLY) }, also: absent},
	{name: "write /dev/kmsg", try: func() error { return openFile("/dev/kmsg", unix.O_WRONLY) }, also: absent},
	{name: "make a device", try: makeDevice},
}

var absent = []syscall.Errno{unix.ENOENT, unix.ENXIO, unix.ENODEV}

// readKcore reads its first byte: where it is hidden there is none.
func readKcore() error {
	fd, err := unix.Open("/proc/kcore", unix.O_RDONLY|unix.O_CLOEXEC, 0)
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

func makeDevice() error {
	name := "/tmp/.hermes-probe-" + strconv.Itoa(os.Getpid())
	err := unix.Mknod(name, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3)))
	if err == nil {
		err = unix.Unlink(name)
	}
	return err
}

// selfTrials change nothing but this process.
var selfTrials = []trial{
	{name: "raise a resource limit", try: func() error {
		var files unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
			return err
		}
		files.Max++
		return unix.Setrlimit(unix.RLIMIT_NOFILE, &files)
	}},
	{name: "personality", try: just(unix.SYS_PERSONALITY, readImpliesExec)},
	{name: "type into a terminal", try: func() error { return unix.IoctlSetPointerInt(-1, unix.TIOCSTI, 0) }},
}

const readImpliesExec = 0x0400000
