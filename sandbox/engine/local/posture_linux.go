package local

import (
	"fmt"
	"os"
	"strings"

	"hermes.example/hermes/internal/guest/jail"
	"hermes.example/hermes/internal/subid"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/internal/host"
)

// posture says what is enforced, and more often what is not.
func (c *creation) posture(r jail.Report) sandbox.Posture {
	var p sandbox.Posture
	add := func(name, value string, enforced bool, deviation string) {
		p.Facts = append(p.Facts, sandbox.Fact{Name: name, Value: value, Enforced: enforced, Deviation: deviation})
	}
	// judge adds what should hold, and what follows where it does not.
	judge := func(name, value string, holds bool, otherwise string) {
		if holds {
			otherwise = ""
		}
		add(name, value, holds, otherwise)
	}
	const sees = "commands see and change what their user may on this machine, the files of Hermes among it"
	if r.LandlockABI > 0 {
		add(sandbox.FactIsolation, "landlock", false, sees+unscoped(r.LandlockABI))
	} else {
		add(sandbox.FactIsolation, "none", false, sees+", and may trace and signal its processes, and so end the guest")
	}
	add(sandbox.FactNamespaces, "none", false, "commands share this machine's")
	add(sandbox.FactIDs, "the machine's: "+subid.MapText(r.UIDMap), false, "commands are "+c.user.name+" of this machine")
	caps := strings.Join(r.Capabilities, " ")
	if caps == "" {
		caps = "none"
	}
	add(sandbox.FactCapabilities, caps, true, "")
	judge(sandbox.FactPrivileges, yes(r.NoNewPrivileges), r.NoNewPrivileges, "programs may gain privileges")
	judge(sandbox.FactSeccomp, "filter "+r.SeccompDigest, r.Seccomp, "system calls are not filtered")
	if r.LandlockABI > 0 {
		add(sandbox.FactLandlock, fmt.Sprintf("ABI %d, without files", r.LandlockABI), true, strings.TrimPrefix(unscoped(r.LandlockABI), ", "))
	} else {
		add(sandbox.FactLandlock, "none", false, r.LandlockError)
	}
	c.addLimits(add)
	add(sandbox.FactNetwork, string(sandbox.NetworkHost), false, "this machine's whole network is reachable")
	add(sandbox.FactRoot, "this machine's; home and workspace in "+c.ownDir(), false, "commands can write wherever their user can")
	add(sandbox.FactTreeKill, "by mark and descent", true, "")
	add(sandbox.FactLifetime, "until removed, reaped or the machine or container ends", true, lifetime())
	return p
}

// unscoped says what an early Landlock leaves open.
func unscoped(abi int) string {
	if abi >= 6 {
		return ""
	}
	return ", and signals and abstract sockets are not scoped before ABI 6: commands may signal the guest"
}

func (c *creation) addLimits(add func(name, value string, enforced bool, deviation string)) {
	const others = "not enforced: a local sandbox has no cgroup; the container's own limit holds"
	l := c.Spec.Limits
	for _, limit := range []struct {
		name, value string
		wanted      bool
		deviation   string
	}{
		{sandbox.FactMemory, fmt.Sprintf("%d MiB", l.Memory>>20), l.Memory > 0, others},
		{sandbox.FactCPUs, fmt.Sprintf("%g", l.CPUs), l.CPUs > 0, others},
		{sandbox.FactPids, fmt.Sprint(l.Pids), l.Pids > 0, c.pids()},
		{sandbox.FactDisk, fmt.Sprintf("%d MiB", l.Disk>>20), l.Disk > 0, "not enforced: only engines of containers limit it"},
	} {
		if limit.wanted {
			add(limit.name, limit.value, false, limit.deviation)
		} else {
			add(limit.name, "no limit", false, "")
		}
	}
}

func (c *creation) pids() string {
	switch {
	case !limitsProcesses(c.Spec):
		return "not enforced: the default is no limit here; the container's own holds"
	case c.user.uid == 0 && os.Getuid() == 0:
		return "not enforced: the kernel counts no processes of root"
	}
	return "counts everything that the user runs on this machine"
}

// lifetime says what may end the guest besides us, and what it then leaves.
func lifetime() string {
	const left = "processes that a killed guest leaves end when the sandbox is next started, swept or removed; those with an empty environment do not"
	if strings.Contains(host.ReadLine("/proc/self/cgroup"), "/session-") {
		return left + "; a login session that ends may end the sandbox too, unless lingering is enabled"
	}
	return left
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
