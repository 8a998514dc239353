package sandbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"hermes.example/hermes/internal/capability"
)

// Container is the part of a Spec that only engines of containers can fulfil: what
// people give to "docker run" beside what every sandbox has. Empty fields change
// nothing. What is weaker than the default is listed by [Spec.Deviations].
type Container struct {
	// CapAdd and CapDrop change what commands have of DefaultCapabilities; names
	// are without CAP_. To add ALL is possible.
	CapAdd     []string `json:"cap_add,omitempty"`
	CapDrop    []string `json:"cap_drop,omitempty"`
	Privileged bool     `json:"privileged,omitempty"`
	// NewPrivileges lets set-id programs have an effect.
	NewPrivileges bool `json:"new_privileges,omitempty"`
	// Seccomp is Unconfined, or a profile as JSON.
	Seccomp  string   `json:"seccomp,omitempty"`
	AppArmor string   `json:"apparmor,omitempty"` // Unconfined, or a profile's name
	SELinux  []string `json:"selinux,omitempty"`  // "disable", or parts of a label as in "type:t"
	// BareSystemPaths leaves off the masks over parts of /proc and /sys.
	BareSystemPaths bool     `json:"bare_system_paths,omitempty"`
	Groups          []string `json:"groups,omitempty"` // that commands are in beside their own
	Runtime         string   `json:"runtime,omitempty"`

	Devices     []Device `json:"devices,omitempty"`
	DeviceRules []string `json:"device_rules,omitempty"` // as in "c 189:* rwm"
	GPUs        *GPUs    `json:"gpus,omitempty"`

	// Namespaces that are somebody else's: "host", or for IPC "container:NAME"
	// and the kinds of an own one.
	IPC      string `json:"ipc,omitempty"`
	UTS      string `json:"uts,omitempty"`
	UserNS   string `json:"userns,omitempty"`
	CgroupNS string `json:"cgroupns,omitempty"`

	// Network names one that the engine's administrator made, or
	// "container:NAME". Spec.Network is then NetworkBridge.
	Network        string   `json:"network,omitempty"`
	NetworkAliases []string `json:"network_aliases,omitempty"`
	IP             string   `json:"ip,omitempty"`
	IP6            string   `json:"ip6,omitempty"`
	MAC            string   `json:"mac,omitempty"`
	Ports          []Port   `json:"ports,omitempty"`
	Hosts          []string `json:"hosts,omitempty"` // NAME:ADDRESS, the address may be "host-gateway"
	DNS            []string `json:"dns,omitempty"`
	DNSSearch      []string `json:"dns_search,omitempty"`
	DNSOptions     []string `json:"dns_options,omitempty"`
	Hostname       string   `json:"hostname,omitempty"`
	Domainname     string   `json:"domainname,omitempty"`

	// MemorySwap bounds memory and swap together, in bytes; -1 means no bound.
	MemorySwap        int64    `json:"memory_swap,omitempty"`
	MemoryReservation int64    `json:"memory_reservation,omitempty"` // bytes
	CPUShares         int64    `json:"cpu_shares,omitempty"`
	CPUSet            string   `json:"cpu_set,omitempty"` // as in "0-2,4"
	MemorySet         string   `json:"memory_set,omitempty"`
	OOMScoreAdj       int      `json:"oom_score_adj,omitempty"`
	Ulimits           []Ulimit `json:"ulimits,omitempty"`
	CgroupParent      string   `json:"cgroup_parent,omitempty"`

	Volumes      []Volume `json:"volumes,omitempty"`
	Tmpfs        []Tmpfs  `json:"tmpfs,omitempty"`
	ReadOnlyRoot bool     `json:"read_only_root,omitempty"`

	Sysctls     map[string]string `json:"sysctls,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Words in the fields of a Container.
const (
	Unconfined  = "unconfined"
	AllCaps     = "ALL"
	HostSpace   = "host"
	OfContainer = "container:" // before a name
)

// Device is one of the host's that commands can use.
type Device struct {
	Source string `json:"source"`
	Target string `json:"target"`
	Access string `json:"access"` // some of "rwm"
}

// GPUs asks the engine's driver for some: all if Count is negative.
type GPUs struct {
	Count        int      `json:"count,omitempty"`
	IDs          []string `json:"ids,omitempty"`
	Driver       string   `json:"driver,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
}

// Port of the sandbox that can be reached from outside.
type Port struct {
	Address  string `json:"address,omitempty"` // of the host; empty means all of them
	Host     uint16 `json:"host,omitempty"`    // zero means that the engine chooses
	Port     uint16 `json:"port"`
	Protocol string `json:"protocol"`
}

func (p Port) String() string {
	host := "any port"
	if p.Host != 0 {
		host = fmt.Sprint(p.Host)
	}
	return fmt.Sprintf("%s %s → %d/%s", cmp.Or(p.Address, "every address"), host, p.Port, p.Protocol)
}

// Ulimit is a limit of each process; -1 means none.
type Ulimit struct {
	Name string `json:"name"`
	Soft int64  `json:"soft"`
	Hard int64  `json:"hard"`
}

// Volume is a directory that the engine keeps under a name.
type Volume struct {
	Name     string `json:"name"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"read_only,omitempty"`
	NoCopy   bool   `json:"no_copy,omitempty"` // begins empty, whatever the image has there
}

// Tmpfs is a directory in memory.
type Tmpfs struct {
	Target  string   `json:"target"`
	Options []string `json:"options,omitempty"`
}

// DefaultCapabilities are what commands have unless a spec says otherwise.
func DefaultCapabilities() []string {
	return []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"}
}

// Capabilities says what to drop and what to add for commands that would have the
// base. Everything is dropped first, so that no engine's own default is in it.
func (c *Container) Capabilities(base []string) (drop, add []string) {
	if c == nil {
		return []string{AllCaps}, base
	}
	if slices.Contains(c.CapAdd, AllCaps) {
		return c.CapDrop, []string{AllCaps}
	}
	add = slices.DeleteFunc(slices.Clone(base), func(name string) bool { return slices.Contains(c.CapDrop, name) })
	add = append(add, c.CapAdd...)
	slices.Sort(add)
	return []string{AllCaps}, slices.Compact(add)
}

// normal is the container without what makes no difference, or nil if nothing is left.
// The original shares nothing with it that is changed here.
func (c *Container) normal() *Container {
	if c == nil {
		return nil
	}
	n := *c
	for _, set := range []*[]string{&n.CapAdd, &n.CapDrop, &n.SELinux, &n.Groups, &n.DeviceRules, &n.NetworkAliases} {
		*set = slices.Compact(slices.Sorted(slices.Values(*set)))
	}
	n.Devices = sortedBy(n.Devices, func(d Device) string { return d.Target + " " + d.Source + " " + d.Access })
	n.Ports = sortedBy(n.Ports, func(p Port) string { return fmt.Sprintf("%05d %s %05d %s", p.Port, p.Protocol, p.Host, p.Address) })
	n.Ulimits = sortedBy(n.Ulimits, func(u Ulimit) string { return u.Name })
	n.Volumes = sortedBy(n.Volumes, func(v Volume) string { return path.Clean(v.Target) })
	for i := range n.Volumes {
		n.Volumes[i].Target = path.Clean(n.Volumes[i].Target)
	}
	n.Tmpfs = sortedBy(n.Tmpfs, func(t Tmpfs) string { return path.Clean(t.Target) })
	for i := range n.Tmpfs {
		n.Tmpfs[i].Target = path.Clean(n.Tmpfs[i].Target)
	}
	if len(n.fields()) == 0 {
		return nil
	}
	return &n
}

func sortedBy[T any](list []T, key func(T) string) []T {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	return list
}

// fields are those that say something, by their names in JSON, as people can read them.
func (c *Container) fields() map[string]string {
	said := make(map[string]string)
	if c == nil {
		return said
	}
	data, err := json.Marshal(c)
	var raw map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(data, &raw)
	}
	if err != nil {
		panic("sandbox: a container always has a JSON form: " + err.Error())
	}
	for name, value := range raw {
		said[strings.ReplaceAll(name, "_", " ")] = string(value)
	}
	return said
}

// difference lists in words how two containers differ.
func (c *Container) difference(other *Container) []string {
	a, b := c.fields(), other.fields()
	both := maps.Clone(a)
	maps.Copy(both, b)
	var diff []string
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if a[name] != b[name] {
			diff = append(diff, fmt.Sprintf("container's %s: %s → %s", name, cmp.Or(a[name], "none"), cmp.Or(b[name], "none")))
		}
	}
	return diff
}

// isCapability says whether a name is one of Linux's.
func isCapability(name string) bool {
	return slices.Contains(capability.Names(1<<capability.Count-1), name)
}
