package seccomp

import (
	"errors"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// instruction is a unix.SockFilter whose fields may be written without names,
// which keeps the generated tables to one short line an instruction.
type instruction struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

// Filter returns a copy of the filter's program, or nil where no table was
// generated for the architecture.
func Filter() []unix.SockFilter {
	if len(program) == 0 {
		return nil
	}
	filter := make([]unix.SockFilter, len(program))
	for i, in := range program {
		filter[i] = unix.SockFilter{Code: in.code, Jt: in.jt, Jf: in.jf, K: in.k}
	}
	return filter
}

// Load installs the filter on the calling thread, for good: it is inherited by
// every fork and exec from this thread and can only be added to. The caller has
// locked the goroutine to its thread and set no-new-privileges. Flags are those
// of seccomp(2); with SECCOMP_FILTER_FLAG_TSYNC all threads of the process get
// the filter or none does.
func Load(flags uintptr) error {
	filter := Filter()
	if filter == nil {
		return errors.New("cannot load the syscall filter: there is none for " + runtime.GOARCH)
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	// RawSyscall, because the scheduler has no part in a call that cannot block.
	thread, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		flags, uintptr(unsafe.Pointer(&prog)))
	switch {
	case errno == unix.EACCES:
		return errors.New("cannot load the syscall filter: no-new-privileges is not set on this thread")
	case errno == unix.ENOSYS:
		return errors.New("cannot load the syscall filter: this kernel is built without seccomp filters")
	case errno != 0:
		return errors.New("cannot load the syscall filter: " + errno.Error())
	case thread != 0:
		// TSYNC reports the first thread that has a filter of its own as a
		// result, not as an errno, and has then installed nothing.
		return errors.New("cannot load the syscall filter: thread " + strconv.Itoa(int(thread)) + " has another one")
	}
	return nil
}

// Digest returns the first 12 hex digits of the SHA-256 of the program, or ""
// where there is none. The generator computes it, so that PID 1 needs no hash.
func Digest() string { return digest }
