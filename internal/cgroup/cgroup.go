// Package cgroup owns the control groups of a sandbox: where they are, what
// limits sit on them, and how they go away. The native engine calls it on the
// host side, once per sandbox; the guest only gets open descriptors.
//
// In every hierarchy that is used a sandbox has
//
//	<base>/hermes/<name>/        the guest lives here (v1, and v2 without controllers)
//	<base>/hermes/<name>/guest/  or here (v2 with controllers: a group that hands
//	                             controllers to children may hold no process)
//	<base>/hermes/<name>/cmd/    all commands live here or in groups of their own
//	                             below it; the limits are set here
//
// so that neither pids.max nor an out-of-memory kill can hit the guest.
//
// The life of a group: Create makes it, Start bears the guest in it, Files gives
// the guest its descriptors, Kill and Remove end it. Any later process finds it
// again by List and Open. The first of two concurrent Creates of one name wins,
// the other gets fs.ErrExist.
//
// The guest keeps the host's cgroup namespace, and each command unshares its own once
// it is in its group: a guest in a namespace of its own may, where v2 is mounted with
// nsdelegate (systemd does), put nothing into cmd (ENOENT).
//
// The package must never move a process that is not the sandbox's, never lower a
// limit silently (the Verdict says what is not enforced and why), and never touch
// a group outside a directory called "hermes".
package cgroup

import (
	"bytes"
	"strconv"
)

// Limits are what the commands of a sandbox may use together. Zero means no limit.
type Limits struct {
	MemoryBytes int64
	CPUs        float64
	Pids        int64
}

// Verdict says what of the Limits is really enforced, and whether the guest can
// make a group per command and kill it as a whole.
type Verdict struct {
	Memory, CPU, Pids, Kill Enforcement
}

// Enforcement is the verdict on one thing.
type Enforcement struct {
	By     string // "v1" or "v2"; empty when it is not enforced
	Reason string // why it is not enforced, or what of it is weaker than asked
}

// Enforced reports whether the kernel enforces it.
func (e Enforcement) Enforced() bool { return e.By != "" }

// ParseOOM returns how many processes the kernel has killed for want of memory,
// from the content of Handles.OOMEvents (v1 memory.oom_control, v2 memory.events).
func ParseOOM(content []byte) (kills int64) {
	for line := range bytes.Lines(content) {
		key, value, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		// v1 also has oom_kill_disable, v2 also has oom and oom_group_kill.
		if !ok || string(key) != "oom_kill" {
			continue
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
		if err != nil || n < 0 {
			return 0
		}
		return n
	}
	return 0
}
