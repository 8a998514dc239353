package sandbox

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Deviations lists what in a spec makes the sandbox weaker than the default, each
// with what it means, under the name of the fact that it takes from. What only
// makes it stronger, or other, is not there.
func (s Spec) Deviations() []Fact {
	s = s.Normal()
	w := weakenings{}
	for _, m := range s.Mounts {
		w.mount(m)
	}
	if c := s.Container; c != nil {
		w.rights(c)
		w.devices(c)
		w.namespaces(c)
		w.network(c)
		w.limits(c)
	}
	return w
}

// weaken puts what a spec gives away into the posture that was found: facts
// keep their values and say what was taken from them, so that a demand for one of
// them is not met by what is left of it.
func (p *Posture) weaken(by []Fact) {
	for _, d := range by {
		text := d.Value + ": " + d.Deviation
		i := slices.IndexFunc(p.Facts, func(f Fact) bool { return f.Name == d.Name })
		if i < 0 {
			p.Facts = append(p.Facts, d)
			continue
		}
		f := &p.Facts[i]
		f.Enforced = f.Enforced && d.Enforced
		if f.Deviation != "" {
			text = f.Deviation + "; " + text
		}
		f.Deviation = text
	}
}

// weakenings grow by what is weaker than the default.
type weakenings []Fact

// lose adds something through which a fact does not hold any more.
func (w *weakenings) lose(fact, value, why string) {
	*w = append(*w, Fact{Name: fact, Value: value, Deviation: why})
}

// bend adds something that leaves a fact in force, but weaker.
func (w *weakenings) bend(fact, value, why string) {
	*w = append(*w, Fact{Name: fact, Value: value, Deviation: why, Enforced: true})
}

const rootOfHost = "commands can become root of the host"

// decisive capabilities lead out of a container.
var decisive = []string{AllCaps, "SYS_ADMIN", "SYS_MODULE", "SYS_RAWIO", "SYS_BOOT", "DAC_READ_SEARCH", "BPF", "MKNOD"}

func (w *weakenings) rights(c *Container) {
	if c.Privileged {
		w.lose(FactIsolation, "privileged", "it has every capability and device of the host, and no filter: "+rootOfHost)
	}
	for _, name := range c.CapAdd {
		switch {
		case slices.Contains(decisive, name):
			w.lose(FactCapabilities, name+" added", "with it "+rootOfHost)
		case !slices.Contains(DefaultCapabilities(), name):
			w.lose(FactCapabilities, name+" added", "commands have a right that they do not have by default")
		}
	}
	if c.NewPrivileges {
		w.lose(FactPrivileges, "no", "programs with a set-user-id bit have their effect")
	}
	switch c.Seccomp {
	case "":
	case Unconfined:
		w.lose(FactSeccomp, Unconfined, "no system call is filtered")
	default:
		w.lose(FactSeccomp, "a profile of its own", "which system calls it lets through is not known here")
	}
	switch c.AppArmor {
	case "":
	case Unconfined:
		w.bend(FactIsolation, "AppArmor "+Unconfined, "no profile confines commands")
	default:
		w.bend(FactIsolation, "AppArmor profile "+c.AppArmor, "what it allows is not known here")
	}
	for _, part := range c.SELinux {
		w.bend(FactIsolation, "SELinux label "+part, "it is not the label that keeps containers apart")
	}
	if c.BareSystemPaths {
		w.lose(FactIsolation, "bare /proc and /sys", "what engines hide and protect there can be read, and by root of the sandbox written")
	}
	for _, group := range c.Groups {
		w.bend(FactIDs, "group "+group, "commands have its rights on all that is mounted")
	}
	if c.Runtime != "" {
		w.bend(FactIsolation, "runtime "+c.Runtime, "what it isolates by is not known here")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Annotations)) {
		w.bend(FactIsolation, "annotation "+name, "what the runtime makes of it is not known here")
	}
}

func (w *weakenings) devices(c *Container) {
	for _, d := range c.Devices {
		w.lose(FactHost, "device "+d.Source, "commands use a device of the host")
	}
	for _, rule := range c.DeviceRules {
		w.lose(FactHost, "device rule "+rule, "commands use whatever devices of the host it matches")
	}
	if c.GPUs != nil {
		w.lose(FactHost, "GPUs", "commands use devices and driver of the host")
	}
}

func (w *weakenings) namespaces(c *Container) {
	if c.IPC == HostSpace || strings.HasPrefix(c.IPC, OfContainer) {
		w.lose(FactNamespaces, "ipc of "+c.IPC, "commands see shared memory that is not theirs")
	}
	if c.UTS == HostSpace {
		w.lose(FactNamespaces, "uts of host", "the host's name is theirs")
	}
	if c.CgroupNS == HostSpace {
		w.lose(FactNamespaces, "cgroup of host", "commands see the host's tree of cgroups")
	}
	if c.UserNS == HostSpace {
		w.lose(FactIDs, "userns of host", "root of the sandbox is root of the host, held only by its capabilities")
	}
}

func (w *weakenings) network(c *Container) {
	if name, joined := strings.CutPrefix(c.Network, OfContainer); joined {
		w.lose(FactNetwork, "network of container "+name, "commands listen and connect as that container does")
	} else if c.Network != "" {
		w.bend(FactNetwork, "network "+c.Network, "commands reach whatever else is in it")
	}
	for _, p := range c.Ports {
		w.bend(FactNetwork, "port "+p.String(), "who reaches the host there reaches the sandbox")
	}
}

func (w *weakenings) limits(c *Container) {
	if c.MemorySwap < 0 {
		w.bend(FactMemory, "swap without a limit", "commands can fill the host's swap")
	}
	if c.OOMScoreAdj < 0 {
		w.bend(FactMemory, fmt.Sprintf("out-of-memory score %d", c.OOMScoreAdj), "when memory ends the host loses others first")
	}
	for _, u := range c.Ulimits {
		if (u.Name == "rtprio" || u.Name == "nice") && u.Hard != 0 {
			w.bend(FactCPUs, "limit "+u.Name, "commands can go before everybody else on the processors")
		}
	}
}

// engineSockets make whoever can connect to them root of the host, and no read-only
// mount is in the way of that.
var engineSockets = []string{"/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock", "/run/crio/crio.sock"}

// usersSockets are where the engines of ordinary users have theirs.
var usersSockets = regexp.MustCompile(`^/run/user(/[^/]+(/podman|/containerd)?)?$`)

// engineFiles are what engines keep, containers' files among it.
var engineFiles = []string{"/var/lib/docker", "/var/lib/containers", "/var/lib/containerd"}

// mount adds what is mounted if the host is lost by it.
func (w *weakenings) mount(m Mount) {
	source := path.Clean(strings.ReplaceAll(m.Source, `\`, "/"))
	at := m.Source + " at " + m.Target
	switch {
	case source == "/":
		w.lose(FactHost, at, "the host's whole file system is visible")
	case slices.ContainsFunc(engineSockets, func(p string) bool { return below(p, source) || path.Base(source) == path.Base(p) }), usersSockets.MatchString(source):
		w.lose(FactHost, at, "commands reach the socket of a container engine, and with it "+rootOfHost)
	case slices.ContainsFunc(engineFiles, func(p string) bool { return below(p, source) || below(source, p) }):
		w.lose(FactHost, at, "commands reach the files of all containers")
	}
}

// below says whether a path is dir or in it.
func below(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
