package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

var kernelAttempts = []attempt{
	{name: "bpf", try: func(world) error {
		attr := [32]uint32{2, 4, 4, 1} // an array of one value of four bytes
		fd, err := call(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
		return opened(int(fd), err)
	}},
	{name: "perf_event_open", try: func(world) error {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Bits: unix.PerfBitDisabled}
		return opened(unix.PerfEventOpen(&attr, 0, -1, -1, 0))
	}},
	{name: "userfaultfd", try: func(world) error {
		fd, err := call(unix.SYS_USERFAULTFD, unix.O_CLOEXEC)
		return opened(int(fd), err)
	}},
	{name: "io_uring", try: func(world) error {
		var params [120]byte
		fd, err := call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
		return opened(int(fd), err)
	}},
	{name: "keyctl", try: func(world) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
		return err
	}},
	{name: "add_key", try: func(world) error {
		_, err := unix.AddKey("user", "hermes-escape", []byte{0}, unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	}},
	{name: "request_key", try: func(world) error {
		_, err := unix.RequestKey("user", "hermes-no-such-key", "", 0)
		if err == unix.ENOENT {
			err = unix.ENOKEY // the same, before anybody had a keyring
		}
		return err
	}, past: []syscall.Errno{unix.ENOKEY}},
	{name: "init_module", try: just(unix.SYS_INIT_MODULE, badAddress, 4096, badAddress), past: []syscall.Errno{unix.EFAULT, unix.ENOEXEC}},
	{name: "finit_module", try: just(unix.SYS_FINIT_MODULE, bad, badAddress, 0), past: []syscall.Errno{unix.EBADF, unix.EFAULT}},
	{name: "delete_module", try: just(unix.SYS_DELETE_MODULE, badAddress, 0), past: []syscall.Errno{unix.EFAULT}},
	{name: "kexec_load", try: just(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0xff00), past: []syscall.Errno{unix.EINVAL}},
	{name: "kexec_file_load", try: just(unix.SYS_KEXEC_FILE_LOAD, bad, bad, 0, 0, 0xff00), past: []syscall.Errno{unix.EINVAL, unix.EBADF}},
	{name: "the kernel's log", try: func(world) error {
		const readAll = 3
		_, err := unix.Klogctl(readAll, make([]byte, 1))
		return err
	}},
	{name: "fanotify_init", try: func(world) error { return opened(unix.FanotifyInit(unix.FAN_CLASS_CONTENT, unix.O_RDONLY)) }},
	{name: "memory placement of others (move_pages)", try: func(w world) error {
		_, err := call(unix.SYS_MOVE_PAGES, uintptr(w.Outside), 0, 0, 0, 0, 0)
		return err
	}, refused: gone},
}

var privilegeAttempts = []attempt{
	{name: "a setuid program", try: func(w world) error { return gains(w.Setuid) }},
	{name: "a program with file capabilities", try: func(w world) error { return gains(w.FileCaps) }},
	{name: "give a program capabilities", try: func(w world) error {
		name := w.Shared + "/with-capabilities"
		defer unix.Unlink(name)
		if err := os.WriteFile(name, nil, 0o755); err != nil {
			return err
		}
		return unix.Setxattr(name, "security.capability", netRaw, 0)
	}},
	{name: "redirect an overlay (trusted attribute)", try: func(w world) error {
		name := w.Shared + "/redirected"
		defer unix.Unlink(name)
		if err := os.WriteFile(name, nil, 0o755); err != nil {
			return err
		}
		return unix.Setxattr(name, "trusted.overlay.redirect", []byte("/etc"), 0)
	}},
	{name: "capset", try: func(world) error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		data := [2]unix.CapUserData{{Effective: 1 << unix.CAP_SYS_ADMIN, Permitted: 1 << unix.CAP_SYS_ADMIN}}
		return unix.Capset(&header, &data[0])
	}},
	{name: "become another user of the host", try: func(w world) error {
		const nobodys = 0x7fff0000 // outside of every map
		runtime.LockOSThread()
		_, err := call(unix.SYS_SETRESUID, nobodys, nobodys, nobodys)
		return err
	}, refused: []syscall.Errno{unix.EINVAL}},
	{name: "raise a resource limit", try: func(world) error {
		var limit unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			return err
		}
		limit.Max++
		return unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	}},
	{name: "take priority", try: func(world) error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -5) }},
	{name: "realtime scheduling", try: func(world) error {
		const fifo = 1
		priority := int32(1)
		_, err := call(unix.SYS_SCHED_SETSCHEDULER, 0, fifo, uintptr(unsafe.Pointer(&priority)))
		return err
	}},
	{name: "suspend the filter of a child", try: suspendFilter},
	{name: "replace the program's memory map (PR_SET_MM)", try: func(world) error {
		const exeFile = 13
		return unix.Prctl(unix.PR_SET_MM, exeFile, bad, 0, 0)
	}, past: []syscall.Errno{unix.EBADF, unix.EINVAL}},
	{name: "personality READ_IMPLIES_EXEC", try: just(unix.SYS_PERSONALITY, 0x0400000)},
}

// netRaw is an extended attribute that gives a program CAP_NET_RAW.
var netRaw = []byte{1, 0, 0, 2, 0, 1 << (unix.CAP_NET_RAW % 8), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// gains runs a program of this kind as somebody without rights, and says whether it
// has more of them than whoever started it.
func gains(program string) error {
	cmd := exec.Command(program, "whoami")
	if os.Getuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: true}}
	}
	out, err := cmd.Output()
	if errors.Is(err, unix.EINVAL) { // there is no other user to become
		cmd = exec.Command(program, "whoami")
		out, err = cmd.Output()
	}
	if err != nil {
		return err
	}
	var uid, euid int
	var capabilities uint64
	if _, err := fmt.Sscanf(string(out), "%d %d %x", &uid, &euid, &capabilities); err != nil {
		return err
	}
	if uid != euid || uid != 0 && capabilities != 0 {
		return nil
	}
	return unix.EPERM
}

func whoami() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, after, _ := strings.Cut(string(status), "CapEff:\t")
	capabilities, err := strconv.ParseUint(strings.Fields(after)[0], 16, 64)
	if err != nil {
		return err
	}
	fmt.Printf("%d %d %x\n", os.Getuid(), os.Geteuid(), capabilities)
	return nil
}

// suspendFilter traces a child of ours so that no filter holds for it.
func suspendFilter(world) error {
	runtime.LockOSThread()
	const suspendSeccomp = 1 << 21
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	child, err := os.StartProcess("/proc/self/exe", []string{"attempt", "victim"}, &os.ProcAttr{Files: []*os.File{r}})
	if err != nil {
		return err
	}
	defer child.Wait()
	defer child.Kill()
	_, err = call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(child.Pid), 0, suspendSeccomp)
	return err
}
