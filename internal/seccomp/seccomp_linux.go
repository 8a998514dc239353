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
func Load(flags uintptr) error { return load(Filter(), flags) }

// LoadExcept is Load with one exception: clone3 is allowed to the system call
// instruction before address. The guest bears commands into their cgroups by it,
// from the thread whose filter they inherit. A program could map code of its own
// at that address, so the exception must give it nothing: it needs a user
// namespace in which user.max_user_namespaces is 0, so that clone3 can make no
// namespace that clone could not.
//
// It forbids what LoadGuarding does.
func LoadExcept(address uintptr, flags uintptr) error {
	filter := Filter()
	if filter != nil {
		filter = append(exceptions(uint64(address)), filter...)
	}
	return load(filter, flags)
}

// LoadGuarding is Load that also forbids to set the resource limits of another
// process. The guest has the user id of its commands, who could otherwise end it by
// its limits.
func LoadGuarding(flags uintptr) error {
	filter := Filter()
	if filter != nil {
		filter = append(limitsOfOthers(), filter...)
	}
	return load(filter, flags)
}

// LoadGuard loads only what LoadGuarding adds, where another filter is loaded already.
func LoadGuard(flags uintptr) error {
	return load(append(limitsOfOthers(), unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}), flags)
}

// Where the kernel puts what a filter looks at.
const (
	offNumber    = 0
	offAddress   = 8 // low word first: both architectures are little endian
	offArgument0 = 16
	offArgument2 = 32
	word         = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equal        = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
)

// exceptions are what LoadExcept puts before the filter.
func exceptions(address uint64) []unix.SockFilter {
	return append(forkException(address), limitsOfOthers()...)
}

// forkException allows clone3 to one instruction.
func forkException(address uint64) []unix.SockFilter {
	return []unix.SockFilter{
		{Code: word, K: offNumber},
		{Code: equal, Jf: 5, K: unix.SYS_CLONE3},
		{Code: word, K: offAddress},
		{Code: equal, Jf: 3, K: uint32(address)},
		{Code: word, K: offAddress + 4},
		{Code: equal, Jf: 1, K: uint32(address >> 32)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
}

// limitsOfOthers forbids to set the limits of another process.
func limitsOfOthers() []unix.SockFilter {
	return []unix.SockFilter{
		{Code: word, K: offNumber},
		{Code: equal, Jf: 7, K: unix.SYS_PRLIMIT64},
		{Code: word, K: offArgument0}, // the process; 0 is the caller
		{Code: equal, Jt: 5, K: 0},
		{Code: word, K: offArgument2}, // the new limit; without one it only asks
		{Code: equal, Jf: 2, K: 0},
		{Code: word, K: offArgument2 + 4},
		{Code: equal, Jt: 1, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
	}
}

func load(filter []unix.SockFilter, flags uintptr) error {
	if len(filter) == 0 {
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
