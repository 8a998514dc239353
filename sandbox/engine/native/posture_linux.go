package native

import (
	"fmt"
	"strings"

	"hermes.example/hermes/internal/cgroup"
	"hermes.example/hermes/internal/guest/jail"
	"hermes.example/hermes/internal/subid"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/internal/host"
)

// posture puts together what the guest read back and what the kernel granted.
func (c *creation) posture(r jail.Report) sandbox.Posture {
	var p sandbox.Posture
	add := func(name, value string, enforced bool, deviation string) {
		p.Facts = append(p.Facts, sandbox.Fact{Name: name, Value: value, Enforced: enforced, Deviation: deviation})
	}
	add(sandbox.FactIsolation, "namespaces", true, "")
	namespaces := "user mount pid uts ipc cgroup"
	if c.Spec.Network == sandbox.NetworkNone {
		add(sandbox.FactNamespaces, namespaces+" net", true, "")
	} else {
		add(sandbox.FactNamespaces, namespaces, true, "")
	}
	switch c.ids.Mode {
	case idsSingle:
		add(sandbox.FactIDs, "single: "+subid.MapText(r.UIDMap), false, "only one user exists inside; newuidmap and a range in /etc/subuid give more")
	default:
		add(sandbox.FactIDs, c.ids.Mode+": "+subid.MapText(r.UIDMap), true, "")
	}
	caps := strings.Join(r.Capabilities, " ")
	if caps == "" {
		caps = "none"
	}
	add(sandbox.FactCapabilities, caps, true, "")
	add(sandbox.FactPrivileges, yes(r.NoNewPrivileges), r.NoNewPrivileges, unless(r.NoNewPrivileges, "programs may gain privileges"))
	add(sandbox.FactSeccomp, "filter "+r.SeccompDigest, r.Seccomp, unless(r.Seccomp, "system calls are not filtered"))
	if r.LandlockABI > 0 {
		add(sandbox.FactLandlock, fmt.Sprintf("ABI %d", r.LandlockABI), true, unless(r.LandlockABI >= 6, "signals and abstract sockets are not scoped before ABI 6"))
	} else {
		add(sandbox.FactLandlock, "none", false, r.LandlockError)
	}
	limit := func(name, value string, wanted bool, e cgroup.Enforcement) {
		switch {
		case !wanted:
			add(name, "no limit", false, "")
		case e.Enforced():
			add(name, value+" (cgroup "+e.By+")", true, e.Reason)
		default:
			add(name, value, false, "not enforced: "+e.Reason)
		}
	}
	l := c.Spec.Limits
	limit(sandbox.FactMemory, fmt.Sprintf("%d MiB", l.Memory>>20), l.Memory > 0, c.verdict.Memory)
	limit(sandbox.FactCPUs, fmt.Sprintf("%g", l.CPUs), l.CPUs > 0, c.verdict.CPU)
	if l.Pids > 0 && !c.verdict.Pids.Enforced() {
		add(sandbox.FactPids, fmt.Sprintf("%d (per user, by resource limit)", l.Pids), true, "")
	} else {
		limit(sandbox.FactPids, fmt.Sprint(l.Pids), l.Pids > 0, c.verdict.Pids)
	}
	limit(sandbox.FactDisk, fmt.Sprintf("%d MiB", l.Disk>>20), l.Disk > 0, cgroup.Enforcement{Reason: "only engines of containers limit it"})
	host := c.Spec.Network == sandbox.NetworkHost
	add(sandbox.FactNetwork, string(c.Spec.Network), !host, unless(!host, "the host's whole network is reachable"))
	add(c.rootFact(r))
	if r.CommandCgroups {
		add(sandbox.FactTreeKill, "by cgroup", true, "")
	} else {
		add(sandbox.FactTreeKill, "by lineage", true, "")
	}
	add(sandbox.FactLifetime, "until removed, reaped or the machine restarts", true, c.lifetime())
	return p
}

// rootFact says where the sandbox's programs come from.
func (c *creation) rootFact(r jail.Report) (name, value string, enforced bool, deviation string) {
	if c.image == nil {
		return sandbox.FactRoot, "host programs, read-only", true, ""
	}
	value = fmt.Sprintf("image %s (%s), writable", c.image.Source, c.image.Digest)
	if r.CopyReason != "" {
		value += ", copied because it cannot be overlaid: " + r.CopyReason
	}
	if c.imageUser != "" {
		deviation = fmt.Sprintf("the image's user %s does not exist here; commands run as root of the sandbox", c.imageUser)
	}
	return sandbox.FactRoot, value, false, deviation
}

// lifetime says what may end the guest besides us.
func (c *creation) lifetime() string {
	cg := host.ReadLine("/proc/self/cgroup")
	if !c.verdict.Kill.Enforced() && strings.Contains(cg, "/session-") {
		return "a login session that ends may end the sandbox too, unless lingering is enabled"
	}
	return ""
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func unless(ok bool, deviation string) string {
	if ok {
		return ""
	}
	return deviation
}
