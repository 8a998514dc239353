package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// siginfo is what a sender may make up.
type siginfo struct {
	signo, errno, code int32
	_                  int32
	rest               [112]byte
}

const siQueue = -1

// sendSignals sends all signals to PID 1 in every way that there is: to the
// process, to each of its threads, with made-up information, through a pidfd, and
// by making the kernel send it when something can be read.
func sendSignals() {
	sent := map[string]int{}
	count := func(way string, err error) {
		if err == nil {
			sent[way]++
		}
	}
	for s := unix.Signal(1); s <= 64; s++ {
		info := siginfo{signo: int32(s), code: siQueue}
		count("kill", unix.Kill(1, s))
		_, err := call(unix.SYS_RT_SIGQUEUEINFO, 1, uintptr(s), uintptr(unsafe.Pointer(&info)))
		count("sigqueue", err)
		if pidfd, err := unix.PidfdOpen(1, 0); err == nil {
			count("pidfd", unix.PidfdSendSignal(pidfd, s, nil, 0))
			_, err := call(unix.SYS_PIDFD_SEND_SIGNAL, uintptr(pidfd), uintptr(s), uintptr(unsafe.Pointer(&info)), 0)
			count("pidfd with information", err)
			unix.Close(pidfd)
		}
		for _, tid := range threads() {
			count("tgkill", unix.Tgkill(1, tid, s))
			count("kill by thread", unix.Kill(tid, s))
			_, err := call(unix.SYS_RT_SIGQUEUEINFO, uintptr(tid), uintptr(s), uintptr(unsafe.Pointer(&info)))
			count("sigqueue by thread", err)
			_, err = call(unix.SYS_RT_TGSIGQUEUEINFO, 1, uintptr(tid), uintptr(s), uintptr(unsafe.Pointer(&info)))
			count("sigqueue to a thread", err)
			count("descriptor's owner", byDescriptor(tid, s))
		}
	}
	fmt.Println(sent)
}

// byDescriptor makes the kernel send s to the thread when a pipe can be read.
func byDescriptor(tid int, s unix.Signal) error {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	const ownerThread = 0
	owner := struct{ kind, pid int32 }{ownerThread, int32(tid)}
	if _, err := call(unix.SYS_FCNTL, uintptr(p[0]), unix.F_SETOWN_EX, uintptr(unsafe.Pointer(&owner))); err != nil {
		return err
	}
	if _, err := unix.FcntlInt(uintptr(p[0]), unix.F_SETSIG, int(s)); err != nil {
		return err
	}
	if _, err := unix.FcntlInt(uintptr(p[0]), unix.F_SETFL, unix.O_ASYNC|unix.O_NONBLOCK); err != nil {
		return err
	}
	_, err := unix.Write(p[1], []byte{1})
	return err
}

// takeLimits lowers what PID 1 needs to do its work.
func takeLimits() {
	taken := 0
	for _, tid := range threads() {
		for _, resource := range []int{unix.RLIMIT_NOFILE, unix.RLIMIT_FSIZE, unix.RLIMIT_NPROC, unix.RLIMIT_AS, unix.RLIMIT_CPU, unix.RLIMIT_STACK, unix.RLIMIT_DATA} {
			if unix.Prlimit(tid, resource, &unix.Rlimit{}, nil) == nil {
				taken++
			}
		}
		// Slower, not less: these may succeed.
		unix.Setpriority(unix.PRIO_PROCESS, tid, 19)
		var one unix.CPUSet
		one.Set(0)
		unix.SchedSetaffinity(tid, &one)
	}
	fmt.Println(taken, "limits taken")
}

// stopAll stops whatever it can, as fast as it can.
func stopAll(d time.Duration) {
	fmt.Println("ready")
	n := 0
	for end := time.Now().Add(d); time.Now().Before(end); n++ {
		unix.Kill(-1, unix.SIGSTOP)
		last, _ := os.ReadFile("/proc/sys/kernel/ns_last_pid")
		if pid, err := strconv.Atoi(string(last[:max(0, len(last)-1)])); err == nil {
			for p := pid; p < pid+4; p++ {
				if unix.Tgkill(os.Getpid(), p, 0) != nil { // not a thread of ours
					unix.Kill(p, unix.SIGSTOP)
				}
			}
		}
	}
	fmt.Println(n, "rounds")
}

// fill starts processes until no more can be started.
func fill() {
	n := 0
	for n < 5000 && exec.Command("/bin/sleep", "60").Start() == nil {
		n++
	}
	fmt.Println("ready", n)
	time.Sleep(time.Minute)
}
