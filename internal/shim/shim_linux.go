// Package shim is the command that people type in a running container: it runs the real hermes as the service user
// when root calls it, so that what is written to the data volume is the service user's.
//
// cmd/hermes-shim is it. It replaces itself by the real program, so status, output and signals
// are that one's. It never runs it as root unless it was told to in so many words.
package shim

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"hermes.example/hermes/internal/truth"
	"hermes.example/hermes/internal/userdb"
)

// Statuses of a shim that could not become the program.
const (
	exitNoDrop    = 126
	exitNoProgram = 127
)

const (
	user   = "hermes"
	home   = "/opt/data"
	optOut = "HERMES_DOCKER_EXEC_AS_ROOT"
)

// Exec becomes the program, with the arguments and the environment, and returns only the status of a failure.
func Exec(program string, args, environ []string, stderr io.Writer) int {
	if err := syscall.Access(program, executable); err != nil {
		fmt.Fprintf(stderr, "hermes: cannot run %s: %v; the image is damaged\n", program, err)
		return exitNoProgram
	}
	runtime.LockOSThread() // who this thread becomes, the program is
	if os.Geteuid() == 0 && !truth.Of(lookup(environ, optOut)) {
		if err := drop(); err != nil {
			fmt.Fprintf(stderr, "hermes: cannot run as the user %s: %v\nhermes: it is not run as root; %s=1 does that\n", user, err, optOut)
			return exitNoDrop
		}
		environ = append(slices.DeleteFunc(slices.Clone(environ), func(e string) bool { return strings.HasPrefix(e, "HOME=") }), "HOME="+home)
	}
	err := syscall.Exec(program, append([]string{"hermes"}, args...), environ)
	fmt.Fprintf(stderr, "hermes: cannot run %s: %v\n", program, err)
	return exitNoProgram
}

// executable asks for the right to execute.
const executable = 1

// drop takes on the service user for good. Who that is, the image's files say at this moment: a boot may have given it
// another number.
func drop() error {
	files, err := userdb.Read("/")
	if err != nil {
		return err
	}
	who, known := files.ByName(user)
	switch {
	case !known:
		return errors.New("there is no such user in /etc/passwd")
	case who.UID == 0:
		return errors.New("it is root in /etc/passwd")
	}
	groups := []uint32{uint32(who.GID)}
	for _, g := range who.Groups {
		groups = append(groups, uint32(g))
	}
	// The calls of package syscall wait for every thread of the runtime, which takes longer than all the rest. This
	// thread is the only one that there is after the exec.
	_, _, errno := syscall.RawSyscall(syscall.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0)
	if errno != 0 {
		return os.NewSyscallError("setgroups", errno)
	}
	uid, gid := uintptr(who.UID), uintptr(who.GID)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESGID, gid, gid, gid); errno != 0 {
		return os.NewSyscallError("setgid", errno)
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, uid, uid, uid); errno != 0 {
		return os.NewSyscallError("setuid", errno)
	}
	return nil
}

func lookup(environ []string, name string) string {
	for _, e := range environ {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}
