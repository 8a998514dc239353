package jail

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/capability"
	"hermes.example/hermes/internal/guest/spawn"
	"hermes.example/hermes/internal/seccomp"
)

// commandCapabilities is what root of a sandbox may do: install packages and
// become somebody else, both only within the ids of the sandbox.
var commandCapabilities = []int{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_SETGID, unix.CAP_SETUID}

// guestCapabilities adds what the guest needs to end commands of any user.
var guestCapabilities = append([]int{unix.CAP_KILL}, commandCapabilities...)

// allThreads makes a system call on every thread of the process: Linux keeps
// privileges per thread.
func allThreads(call, a1, a2 uintptr) error {
	if _, _, e := syscall.AllThreadsSyscall6(call, a1, a2, 0, 0, 0, 0); e != 0 {
		return e
	}
	return nil
}

// keepCapabilities leaves every thread with the guest's capabilities only. Where
// commands get a namespace at their birth, the spawner's thread can still make one;
// the bounding set sees to it that no command can.
func keepCapabilities(spawner *spawn.Spawner, namespaces bool) error {
	if err := allThreads(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL); err != nil {
		return fmt.Errorf("cannot clear the ambient capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	for _, c := range guestCapabilities {
		data[c/32].Permitted |= 1 << (c % 32)
	}
	data[0].Effective, data[1].Effective = data[0].Permitted, data[1].Permitted
	if namespaces {
		data[0].Permitted |= 1 << unix.CAP_SYS_ADMIN
	}
	if err := allThreads(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data))); err != nil {
		return fmt.Errorf("cannot drop capabilities: %w", err)
	}
	if !namespaces {
		return nil
	}
	data[0].Effective = data[0].Permitted
	return spawner.Prepare(func() error { return unix.Capset(&header, &data[0]) })
}

// dropBounding limits what any program that this thread starts can ever have:
// the capabilities of a sandbox's root, or for any other user none.
func dropBounding(uid int) error {
	keep := make(map[int]bool)
	if uid == 0 {
		for _, c := range commandCapabilities {
			keep[c] = true
		}
	}
	for c := 0; c <= 63; c++ {
		if keep[c] {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err == unix.EINVAL {
			break // past the kernel's last capability
		} else if err != nil {
			return fmt.Errorf("cannot drop capability %d: %w", c, err)
		}
	}
	return nil
}

// readBack fills the report with what the kernel says of the calling thread.
func readBack(r *Report) error {
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return fmt.Errorf("cannot read back what is enforced: %w", err)
	}
	var bounding, permitted uint64
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch name {
		case "CapBnd":
			bounding, _ = strconv.ParseUint(value, 16, 64)
		case "CapPrm":
			permitted, _ = strconv.ParseUint(value, 16, 64)
		case "NoNewPrivs":
			r.NoNewPrivileges = value == "1"
		case "Seccomp":
			r.Seccomp = value == "2"
		}
	}
	// What a command starts with: no more than the thread has, and no more than
	// the bounding set lets through.
	r.Capabilities = capability.Names(bounding & permitted)
	r.SeccompDigest = seccomp.Digest()
	for file, into := range map[string]*string{"/proc/self/uid_map": &r.UIDMap, "/proc/self/gid_map": &r.GIDMap} {
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("cannot read back the id map: %w", err)
		}
		*into = strings.TrimSpace(string(content))
	}
	return nil
}
