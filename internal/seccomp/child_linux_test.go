//go:build amd64 || arm64

package seccomp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childMode names what a re-executed test binary does instead of testing. A
// filter cannot be taken off again, so no test may load one in its own process.
const childMode = "HERMES_TEST_SECCOMP_CHILD"

func TestMain(m *testing.M) {
	mode := os.Getenv(childMode)
	if mode == "" {
		os.Exit(m.Run())
	}
	if err := json.NewEncoder(os.Stdout).Encode(child(mode)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// report is what a child found.
type report struct {
	LoadError string
	Errnos    map[string]unix.Errno // by attempt
	Filters   int                   // on the thread that loaded
	// Other is what keyctl answers on a thread that existed before the load.
	Other unix.Errno

	ExecFilters int // of a program that the thread started afterwards
	ExecError   string
	ForeignExit string // how the program of another architecture ended
}

func child(mode string) (r report) {
	runtime.LockOSThread()
	flags := uintptr(0)
	other := startThread(mode == "conflict")
	switch mode {
	case "tsync", "conflict":
		flags = unix.SECCOMP_FILTER_FLAG_TSYNC
	case "badflags":
		flags = 1 << 30
	}
	if mode != "privileged" && mode != "control" {
		if err := setNoNewPrivs(); err != nil {
			r.LoadError = err.Error()
			return r
		}
	}
	if mode != "control" {
		if err := Load(flags); err != nil {
			r.LoadError = err.Error()
			return r
		}
	}
	r.Errnos = map[string]unix.Errno{}
	for _, a := range attempts() {
		_, _, r.Errnos[a.name] = unix.RawSyscall6(a.nr, a.args[0], a.args[1], a.args[2], a.args[3], a.args[4], 0)
	}
	r.Other = other()
	r.Filters = countFilters("/proc/thread-self/status")
	r.ExecFilters, r.ExecError = execCat()
	r.ForeignExit = execForeign(os.Getenv(foreignProgram))
	return r
}

func setNoNewPrivs() error {
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

// startThread starts a second thread and returns a function that makes it try
// keyctl. With a filter of its own the thread is one that TSYNC cannot serve.
func startThread(ownFilter bool) func() unix.Errno {
	ready, ask, answer := make(chan error), make(chan bool), make(chan unix.Errno)
	go func() {
		runtime.LockOSThread()
		var err error
		if ownFilter {
			if err = setNoNewPrivs(); err == nil {
				err = Load(0)
			}
		}
		ready <- err
		<-ask
		_, _, errno := unix.RawSyscall(unix.SYS_KEYCTL, noSuchOperation, 0, 0)
		answer <- errno
	}()
	if err := <-ready; err != nil {
		panic(err)
	}
	return func() unix.Errno {
		ask <- true
		return <-answer
	}
}

// countFilters returns the number of filters of a thread; -1 is unknown.
func countFilters(status string) int {
	f, err := os.Open(status)
	if err != nil {
		return -1
	}
	defer f.Close()
	return parseFilters(bufio.NewScanner(f))
}

func parseFilters(lines *bufio.Scanner) int {
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "Seccomp_filters:"); ok {
			if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
				return n
			}
		}
	}
	return -1
}

// execCat forks and executes from the filtered thread.
func execCat() (filters int, failure string) {
	if err := exec.Command("/bin/true").Run(); err != nil {
		return -1, err.Error()
	}
	out, err := exec.Command("/bin/sh", "-c", "cat /proc/self/status | cat").Output()
	if err != nil {
		return -1, err.Error()
	}
	return parseFilters(bufio.NewScanner(strings.NewReader(string(out)))), ""
}

func execForeign(program string) string {
	if program == "" {
		return ""
	}
	err := exec.Command(program).Run()
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// noSuchOperation is no operation of keyctl or bpf, so that the kernel answers
// without doing anything.
const noSuchOperation = 0x7ffffff0

// attempt is a raw call that changes nothing, or nothing outside the child.
type attempt struct {
	name string
	nr   uintptr
	args [5]uintptr
	want unix.Errno
	same bool // the filter makes no difference

	privileged bool // only root's control gets another answer
}

var missingPath = []byte("/hermes-test-does-not-exist\x00")

func attempts() []attempt {
	const addrNoRandomize = 0x40000
	const bad = ^uintptr(0) // as a descriptor, a flag word or an address
	path := uintptr(unsafe.Pointer(&missingPath[0]))
	return []attempt{
		{name: "mount", nr: unix.SYS_MOUNT, args: [5]uintptr{path, path, path}, want: unix.EPERM},
		{name: "unshare user", nr: unix.SYS_UNSHARE, args: [5]uintptr{unix.CLONE_NEWUSER}, want: unix.EPERM},
		{name: "unshare uts", nr: unix.SYS_UNSHARE, args: [5]uintptr{unix.CLONE_NEWUTS}, want: unix.EPERM, privileged: true},
		{name: "setns", nr: unix.SYS_SETNS, args: [5]uintptr{bad}, want: unix.EPERM},
		{name: "clone3", nr: unix.SYS_CLONE3, want: unix.ENOSYS},
		// The kernel refuses the pair with EINVAL before it makes a process.
		{name: "clone user", nr: unix.SYS_CLONE, args: [5]uintptr{unix.CLONE_NEWUSER | unix.CLONE_FS}, want: unix.EPERM},
		{name: "keyctl", nr: unix.SYS_KEYCTL, args: [5]uintptr{noSuchOperation}, want: unix.EPERM},
		{name: "add_key", nr: unix.SYS_ADD_KEY, args: [5]uintptr{bad, bad}, want: unix.EPERM},
		{name: "request_key", nr: unix.SYS_REQUEST_KEY, args: [5]uintptr{bad, bad}, want: unix.EPERM},
		{name: "bpf", nr: unix.SYS_BPF, args: [5]uintptr{noSuchOperation}, want: unix.EPERM},
		{name: "io_uring_setup", nr: unix.SYS_IO_URING_SETUP, args: [5]uintptr{1, bad}, want: unix.EPERM},
		{name: "userfaultfd", nr: unix.SYS_USERFAULTFD, args: [5]uintptr{bad}, want: unix.EPERM},
		{name: "TIOCSTI", nr: unix.SYS_IOCTL, args: [5]uintptr{bad, unix.TIOCSTI}, want: unix.EPERM},
		{name: "TIOCSTI with a high bit", nr: unix.SYS_IOCTL, args: [5]uintptr{bad, 1<<32 | unix.TIOCSTI}, want: unix.EPERM},
		{name: "TIOCLINUX", nr: unix.SYS_IOCTL, args: [5]uintptr{bad, 0x541c}, want: unix.EPERM},
		{name: "vsock", nr: unix.SYS_SOCKET, args: [5]uintptr{unix.AF_VSOCK, unix.SOCK_STREAM}, want: unix.EPERM},
		{name: "vsock with a high bit", nr: unix.SYS_SOCKET, args: [5]uintptr{1<<32 | unix.AF_VSOCK, unix.SOCK_STREAM}, want: unix.EPERM},
		{name: "alg", nr: unix.SYS_SOCKET, args: [5]uintptr{unix.AF_ALG, unix.SOCK_SEQPACKET}, want: unix.EPERM},
		{name: "personality", nr: unix.SYS_PERSONALITY, args: [5]uintptr{addrNoRandomize}, want: unix.EPERM},
		// Newer than the profile; Linux has it since 6.15.
		{name: "open_tree_attr", nr: unix.SYS_OPEN_TREE_ATTR, args: [5]uintptr{bad, bad}, want: unix.ENOSYS},

		{name: "getpid", nr: unix.SYS_GETPID, same: true},
		{name: "unix socket", nr: unix.SYS_SOCKET, args: [5]uintptr{unix.AF_UNIX, unix.SOCK_STREAM}, same: true},
		{name: "personality query", nr: unix.SYS_PERSONALITY, args: [5]uintptr{0xffffffff}, same: true},
		{name: "TCGETS", nr: unix.SYS_IOCTL, args: [5]uintptr{bad, unix.TCGETS}, want: unix.EBADF, same: true},
		{name: "read", nr: unix.SYS_READ, args: [5]uintptr{bad}, want: unix.EBADF, same: true},
	}
}
