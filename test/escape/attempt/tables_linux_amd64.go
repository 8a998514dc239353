package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// x32 marks a call by the table of x32.
const x32 = 0x40000000

var tableAttempts = []attempt{
	{name: "a 32-bit call (int 0x80)", try: func(world) error {
		const getpid = 20
		if r := int80(getpid); int32(r) < 0 {
			return syscall.Errno(-int32(r))
		}
		return nil
	}, refused: []syscall.Errno{unix.ENOSYS}},
	{name: "an x32 call", try: just(x32 | unix.SYS_GETPID), refused: []syscall.Errno{unix.ENOSYS}},
}

// int80 makes a call without arguments as 32-bit programs do.
func int80(number uintptr) uintptr

func inputOutput(world) error {
	_, err := call(unix.SYS_IOPL, 3)
	return err
}
