package sandbox

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
)

// What the fields of a container may look like. Engines would refuse the rest later
// and in other words, or take it for something else.
var (
	plainName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	plainWord  = regexp.MustCompile(`^[A-Za-z0-9_./@:+-]+$`)
	deviceRule = regexp.MustCompile(`^[abc] (\d+|\*):(\d+|\*) [rwm]{1,3}$`)
	deviceMode = regexp.MustCompile(`^[rwm]{1,3}$`)
	numberSet  = regexp.MustCompile(`^\d+(-\d+)?(,\d+(-\d+)?)*$`)
	labelPart  = regexp.MustCompile(`^(disable|(user|role|type|level):[A-Za-z0-9_.:,-]+)$`)
)

// ownLabels are those by which a sandbox is found; whoever could give it others could
// make it somebody else's.
const ownLabels = "hermes-"

// ulimits are the limits of a process that engines know.
var ulimits = []string{"core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nice", "nofile", "nproc", "rss", "rtprio", "rttime", "sigpending", "stack"}

// tmpfsOptions are what a directory in memory can be mounted with.
var tmpfsOptions = []string{"ro", "rw", "exec", "noexec", "suid", "nosuid", "dev", "nodev", "sync", "async", "atime", "noatime", "relatime", "norelatime",
	"size", "mode", "uid", "gid", "nr_inodes", "nr_blocks", "mpol"}

// validate says what is wrong with a container in a network, beside mounts at targets.
func (c *Container) validate(network Network, targets map[string]bool) error {
	if c == nil {
		return nil
	}
	for _, field := range []struct {
		what   string
		values []string
		valid  func(string) bool
	}{
		{"a capability", c.CapAdd, func(s string) bool { return s == AllCaps || isCapability(s) }},
		{"a capability", c.CapDrop, isCapability},
		{"a seccomp profile", said(c.Seccomp), func(s string) bool { return s == Unconfined || json.Valid([]byte(s)) && isText(s) }},
		{"an AppArmor profile", said(c.AppArmor), plainWord.MatchString},
		{"a part of an SELinux label", c.SELinux, labelPart.MatchString},
		{"a group", c.Groups, plainName.MatchString},
		{"a runtime", said(c.Runtime), plainWord.MatchString},
		{"a rule for devices", c.DeviceRules, deviceRule.MatchString},
		{"an IPC namespace", said(c.IPC), isIPC},
		{"a UTS namespace", said(c.UTS), isHost},
		{"a user namespace", said(c.UserNS), isHost},
		{"a cgroup namespace", said(c.CgroupNS), func(s string) bool { return s == HostSpace || s == "private" }},
		{"a network", said(c.Network), func(s string) bool { return plainName.MatchString(strings.TrimPrefix(s, OfContainer)) }},
		{"an alias in a network", c.NetworkAliases, plainName.MatchString},
		{"an IPv4 address", said(c.IP), func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() }},
		{"an IPv6 address", said(c.IP6), func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is6() && a.Zone() == "" }},
		{"a MAC address", said(c.MAC), func(s string) bool { a, err := net.ParseMAC(s); return err == nil && len(a) == 6 }},
		{"a host's name and address", c.Hosts, isHostEntry},
		{"the address of a name server", c.DNS, isAddress},
		{"a domain to search", c.DNSSearch, func(s string) bool { return s == "." || plainName.MatchString(s) }},
		{"an option of the resolver", c.DNSOptions, plainWord.MatchString},
		{"a host name", said(c.Hostname), isHostname},
		{"a domain name", said(c.Domainname), isHostname},
		{"a set of processors", said(c.CPUSet), numberSet.MatchString},
		{"a set of memory nodes", said(c.MemorySet), numberSet.MatchString},
		{"a parent cgroup", said(c.CgroupParent), func(s string) bool { return plainWord.MatchString(s) && !strings.Contains(s, "..") }},
	} {
		for _, value := range field.values {
			if !field.valid(value) {
				return fmt.Errorf("%q is not %s", value, field.what)
			}
		}
	}
	for _, name := range c.CapDrop {
		if slices.Contains(c.CapAdd, name) {
			return fmt.Errorf("the capability %s is both added and dropped", name)
		}
	}
	for _, check := range []func() error{c.checkDevices, c.checkLimits, func() error { return c.checkNetwork(network) }, func() error { return c.checkTargets(targets) }, c.checkMaps} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// said is a list of one value, or of none if it is empty.
func said(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

func isHost(s string) bool { return s == HostSpace }

func isIPC(s string) bool {
	if name, other := strings.CutPrefix(s, OfContainer); other {
		return plainName.MatchString(name)
	}
	return slices.Contains([]string{HostSpace, "private", "shareable", "none"}, s)
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

func isHostEntry(s string) bool {
	name, address, both := strings.Cut(s, ":")
	return both && plainName.MatchString(name) && (address == "host-gateway" || isAddress(address))
}

func isHostname(s string) bool { return len(s) <= 253 && plainName.MatchString(s) }

func (c *Container) checkDevices() error {
	for _, d := range c.Devices {
		for _, p := range []string{d.Source, d.Target} {
			if !isText(p) || !path.IsAbs(p) || strings.Contains(p, ":") {
				return fmt.Errorf("%q is not the path of a device", p)
			}
		}
		if !deviceMode.MatchString(d.Access) {
			return fmt.Errorf("%q is no way to use the device %s: write some of r, w and m", d.Access, d.Source)
		}
	}
	if g := c.GPUs; g != nil {
		if (g.Count != 0) == (len(g.IDs) > 0) {
			return fmt.Errorf("GPUs are either counted or named")
		}
		for _, word := range slices.Concat(g.IDs, g.Capabilities, said(g.Driver)) {
			if !plainWord.MatchString(word) {
				return fmt.Errorf("%q does not name a GPU, its driver or what it can do", word)
			}
		}
	}
	return nil
}

func (c *Container) checkLimits() error {
	if c.MemorySwap < -1 || c.MemoryReservation < 0 || c.CPUShares < 0 {
		return fmt.Errorf("memory with swap %d, reserved memory %d and CPU shares %d must not be negative", c.MemorySwap, c.MemoryReservation, c.CPUShares)
	}
	if c.OOMScoreAdj < -1000 || c.OOMScoreAdj > 1000 {
		return fmt.Errorf("the out-of-memory score %d is not between -1000 and 1000", c.OOMScoreAdj)
	}
	seen := make(map[string]bool)
	for _, u := range c.Ulimits {
		switch {
		case !slices.Contains(ulimits, u.Name):
			return fmt.Errorf("unknown limit of a process %q: it is none of %s", u.Name, strings.Join(ulimits, ", "))
		case seen[u.Name]:
			return fmt.Errorf("two limits %s of a process", u.Name)
		case u.Soft < -1 || u.Hard < -1 || u.Hard != -1 && (u.Soft == -1 || u.Soft > u.Hard):
			return fmt.Errorf("the limit %s=%d:%d of a process is not a soft one below a hard one", u.Name, u.Soft, u.Hard)
		}
		seen[u.Name] = true
	}
	return nil
}

// checkNetwork refuses what would be left out in silence.
func (c *Container) checkNetwork(network Network) error {
	bridged := network == NetworkBridge || network == ""
	joined := strings.HasPrefix(c.Network, OfContainer)
	named := c.Network != "" && !joined
	switch {
	case c.Network != "" && network != NetworkBridge:
		return fmt.Errorf("the network %q needs the network %q of a sandbox, not %q", c.Network, NetworkBridge, network)
	case len(c.Ports) > 0 && (!bridged || joined):
		return fmt.Errorf("ports can only be published from a network of the sandbox's own (%q)", NetworkBridge)
	case c.MAC != "" && (!bridged || joined):
		return fmt.Errorf("a MAC address needs a network of the sandbox's own (%q)", NetworkBridge)
	case !named && (c.IP != "" || c.IP6 != "" || len(c.NetworkAliases) > 0):
		return fmt.Errorf("addresses and aliases need a network with a name, which the engine's administrator made")
	case c.UTS == HostSpace && (c.Hostname != "" || c.Domainname != ""):
		return fmt.Errorf("the host's own UTS namespace has the host's own name")
	}
	taken := make(map[Port]bool) // of the host
	for _, p := range c.Ports {
		if p.Port == 0 || !slices.Contains([]string{"tcp", "udp", "sctp"}, p.Protocol) || p.Address != "" && !isAddress(p.Address) {
			return fmt.Errorf("%v is not a port to publish", p)
		}
		host := Port{Address: p.Address, Host: p.Host, Protocol: p.Protocol}
		if p.Host != 0 && taken[host] {
			return fmt.Errorf("two ports are published as %d of the host", p.Host)
		}
		taken[host] = true
	}
	return nil
}

// checkTargets adds what is mounted to the targets, and refuses what is there twice.
func (c *Container) checkTargets(targets map[string]bool) error {
	take := func(target string) error {
		if !isText(target) {
			return fmt.Errorf("the mount target %q is not text", target)
		}
		if err := checkTarget(target); err != nil {
			return err
		}
		if strings.Contains(target, ":") {
			return fmt.Errorf("the mount target %q contains a colon", target)
		}
		if targets[path.Clean(target)] {
			return fmt.Errorf("two mounts at %s", target)
		}
		targets[path.Clean(target)] = true
		return nil
	}
	for _, v := range c.Volumes {
		if !plainName.MatchString(v.Name) {
			return fmt.Errorf("%q is not the name of a volume", v.Name)
		}
		if err := take(v.Target); err != nil {
			return err
		}
	}
	for _, t := range c.Tmpfs {
		if err := take(t.Target); err != nil {
			return err
		}
		for _, option := range t.Options {
			name, _, _ := strings.Cut(option, "=")
			if !slices.Contains(tmpfsOptions, name) || !isText(option) || strings.Contains(option, ",") {
				return fmt.Errorf("unknown option %q of the directory in memory at %s", option, t.Target)
			}
		}
	}
	return nil
}

func (c *Container) checkMaps() error {
	for _, kind := range []struct {
		what   string
		values map[string]string
	}{{"a sysctl", c.Sysctls}, {"a label", c.Labels}, {"an annotation", c.Annotations}} {
		for name, value := range kind.values {
			if name == "" || strings.ContainsAny(name, "= \t\n") || !isText(name) || !isText(value) {
				return fmt.Errorf("%q is not a name for %s, or its value is not text", name, kind.what)
			}
		}
	}
	for name := range c.Labels {
		if strings.HasPrefix(name, ownLabels) {
			return fmt.Errorf("the label %q is Hermes' own: sandboxes are found by it", name)
		}
	}
	return nil
}
