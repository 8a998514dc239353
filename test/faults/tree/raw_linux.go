package main

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Go cannot fork without exec. These can, because they do nothing in the child but
// raw system calls on memory that was made before.

// forkForEver replaces the process by a child of itself, again and again.
//
//go:nosplit
//go:norace
func forkForEver() {
	for {
		pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if e == 0 && pid != 0 {
			for {
				unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
		}
	}
}

// startSibling starts the leaf as a child of our own parent.
func startSibling(name string, has func(string) bool) error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	pathPointer, _ := syscall.BytePtrFromString(path)
	argv, _ := syscall.SlicePtrFromStrings([]string{"tree", name, os.Args[2], "leaf"})
	envp, _ := syscall.SlicePtrFromStrings(environment(has))
	return cloneSibling(pathPointer, &argv[0], &envp[0])
}

//go:nosplit
//go:norace
func cloneSibling(path *byte, argv, envp **byte) error {
	pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, unix.CLONE_PARENT|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 {
		return e
	}
	if pid == 0 {
		unix.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(argv)), uintptr(unsafe.Pointer(envp)))
		for {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 1, 0, 0)
		}
	}
	return nil
}

func namePointer(name string) uintptr {
	p, err := syscall.BytePtrFromString(name)
	must(err)
	return uintptr(unsafe.Pointer(p))
}
