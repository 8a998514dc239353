package guest

import (
	"os"
	"os/signal"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/spawn"
)

// dropSignals takes every signal that can be caught and drops it: a process inside
// may send them to PID 1, and the default action of most is to end it. The kernel
// spares PID 1 that action, but not when the signal is blocked in the thread that
// it was sent to, as it is while that thread handles another.
func dropSignals() {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, everySignalBut(syscall.SIGCHLD, syscall.SIGURG, syscall.SIGKILL, syscall.SIGSTOP)...)
	go func() {
		for range ignored {
		}
	}()
	for _, s := range append(faults, spawn.Unclaimed[:]...) {
		ignoreSignal(s)
	}
}

// faults are the signals that Go takes for errors of the program itself, and ends
// it for, when their sender made up where they come from. Ignored, only the kernel
// can end us by them, and it does so when the fault is real.
var faults = []syscall.Signal{syscall.SIGILL, syscall.SIGTRAP, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSTKFLT, syscall.SIGSYS}

// ignoreSignal goes past package signal, which leaves these to the runtime. The
// runtime gives commands the default action back, because it has handlers for them.
func ignoreSignal(s syscall.Signal) {
	const ignore = 1
	action := struct{ handler, flags, restorer, mask uintptr }{handler: ignore}
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0, unsafe.Sizeof(action.mask), 0, 0)
}

func everySignalBut(but ...syscall.Signal) []os.Signal {
	var all []os.Signal
next:
	for s := syscall.Signal(1); s <= 64; s++ {
		for _, b := range but {
			if s == b {
				continue next
			}
		}
		all = append(all, s)
	}
	return all
}

// Between its fork and its exec a command is already a process that others inside
// may stop, and we cannot go on before it has executed.
const (
	stopPatience = time.Second      // how long it may be stopped again and again
	startBound   = 10 * time.Second // how long it may take in any case
)

// guardStart watches a start until the returned function is called: it continues
// the new process when somebody stops it, and kills it when that does not help.
func guardStart() (stop func()) {
	began := bootTime()
	return spawn.Guard(func() { freeStart(bootTime() - began) })
}

func freeStart(since time.Duration) {
	for _, p := range spawn.Unborn() {
		switch {
		case since > startBound, p.Stopped && since > stopPatience:
			kill(p.PID, unix.SIGKILL)
		case p.Stopped:
			kill(p.PID, unix.SIGCONT)
		}
	}
}
