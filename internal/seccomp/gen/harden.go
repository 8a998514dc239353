//go:build linux

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// This file is all that differs from moby's profile.

// narrow are the syscalls whose tested argument the kernel reads as 32 bits,
// and for which the profile's 64-bit comparison is therefore wrong:
// socket(1<<32 | AF_VSOCK) is "greater than AF_VSOCK", so the profile allows
// it, and the kernel then cuts it down to AF_VSOCK. Comparing the low word only
// denies exactly the families that the profile means to deny.
var narrow = map[string]bool{"socket": true}

// TIOCLINUX is missing in x/sys.
const tiocLinux = 0x541c

// Denied whatever a later profile says, because each has been a way to the
// kernel or to other sandboxes: keyrings are not namespaced, io_uring makes
// calls that no filter sees, userfaultfd stops the kernel in the middle of a
// copy and so wins races for exploits.
var alwaysDenied = []string{
	"add_key", "keyctl", "request_key",
	"io_uring_enter", "io_uring_register", "io_uring_setup",
	"userfaultfd",
}

func harden(p *policy, t target) error {
	for _, name := range alwaysDenied {
		nr, ok := t.table[name]
		if !ok {
			return fmt.Errorf("syscall %s, which must be denied, has no number on %s", name, t.goarch)
		}
		delete(p.answers, uint32(nr))
	}

	// TIOCSTI types into a terminal, and TIOCLINUX pastes into a console: a
	// command that got its caller's terminal would so run commands outside.
	// The kernel reads the request as 32 bits.
	nr := uint32(t.table["ioctl"])
	if a, ok := p.answers[nr]; !ok || a.ret != retAllow || len(a.tests) > 0 {
		return fmt.Errorf("the profile does not allow ioctl as a whole any more: revise its hardening")
	}
	p.answers[nr] = answer{ret: retAllow, match: retEPERM, arg: 1, tests: []test{
		{jump: jeq, value: unix.TIOCSTI},
		{jump: jeq, value: tiocLinux},
	}}
	return nil
}
