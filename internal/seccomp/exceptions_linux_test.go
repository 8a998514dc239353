package seccomp

import (
	"testing"

	"golang.org/x/sys/unix"
)

// The exceptions are tried before a filter that says nothing else than that it was
// reached.
func TestExceptions(t *testing.T) {
	const (
		door    = 0x12345678_9abcdef0
		reached = 0xfeed
		allowed = unix.SECCOMP_RET_ALLOW
		refused = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	)
	var program []instruction
	for _, in := range append(exceptions(door), unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: reached}) {
		program = append(program, instruction{in.Code, in.Jt, in.Jf, in.K})
	}
	for name, c := range map[string]struct {
		call call
		want uint32
	}{
		"clone3 through the door":              {call{nr: unix.SYS_CLONE3, from: door}, allowed},
		"clone3 from elsewhere":                {call{nr: unix.SYS_CLONE3, from: door + 2}, reached},
		"clone3 from the same low address":     {call{nr: unix.SYS_CLONE3, from: door & 0xffffffff}, reached},
		"clone3 from the same high address":    {call{nr: unix.SYS_CLONE3, from: door &^ 0xffffffff}, reached},
		"another call through the door":        {call{nr: unix.SYS_UNSHARE, from: door}, reached},
		"own limits":                           {call{nr: unix.SYS_PRLIMIT64, args: [6]uint64{0, 1, 0x7000, 0}}, reached},
		"limits of another":                    {call{nr: unix.SYS_PRLIMIT64, args: [6]uint64{1, 1, 0x7000, 0}}, refused},
		"limits of another, high pointer":      {call{nr: unix.SYS_PRLIMIT64, args: [6]uint64{1, 1, 0x7000_00000000, 0}}, refused},
		"limits of another through the door":   {call{nr: unix.SYS_PRLIMIT64, from: door, args: [6]uint64{1, 1, 0x7000, 0}}, refused},
		"limits of another, asked for":         {call{nr: unix.SYS_PRLIMIT64, args: [6]uint64{1, 1, 0, 0x7000}}, reached},
		"another call with the same arguments": {call{nr: unix.SYS_READ, args: [6]uint64{1, 1, 0x7000, 0}}, reached},
	} {
		if got, err := run(program, c.call); err != nil || got != c.want {
			t.Errorf("%s: %#x %v, want %#x", name, got, err, c.want)
		}
	}
}
