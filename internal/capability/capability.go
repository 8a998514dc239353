// Package capability knows the names of Linux's capabilities. Postures and probes
// show them; it never changes any.
package capability

import "strconv"

// names is in the kernel's order: the index is the number.
var names = [...]string{
	"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "LINUX_IMMUTABLE",
	"NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE",
	"SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE",
	"AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF",
	"CHECKPOINT_RESTORE",
}

// Count is how many there are by name.
const Count = len(names)

// Names lists the members of a set, in the kernel's order.
func Names(set uint64) []string {
	var list []string
	for n := range 64 {
		if set&(1<<n) == 0 {
			continue
		}
		if n < len(names) {
			list = append(list, names[n])
		} else {
			list = append(list, strconv.Itoa(n)) // of a kernel newer than we are
		}
	}
	return list
}
