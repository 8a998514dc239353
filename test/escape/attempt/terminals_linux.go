package main

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

var terminalAttempts = []attempt{
	{name: "type into it (TIOCSTI)", try: func(world) error {
		key := byte('\n')
		_, err := call(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&key)))
		return err
	}},
	{name: "the same with high bits set", try: func(world) error {
		key := byte('\n')
		_, err := call(unix.SYS_IOCTL, 0, 1<<32|unix.TIOCSTI, uintptr(unsafe.Pointer(&key)))
		return err
	}},
	{name: "paste into a console (TIOCLINUX)", try: func(world) error {
		const ioctl, paste = 0x541c, 3
		what := byte(paste)
		_, err := call(unix.SYS_IOCTL, 0, ioctl, uintptr(unsafe.Pointer(&what)))
		return err
	}, past: []syscall.Errno{unix.ENOTTY, unix.EINVAL}},
	{name: "a terminal of the host by its name", try: func(w world) error { return w.Terminal.reach() }, refused: gone},
}
