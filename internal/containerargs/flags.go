package containerargs

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/go-units"

	"hermes.example/hermes/sandbox"
)

// flag is one of docker run's.
type flag struct {
	name, short string
	boolean     bool
	set         func(value string) error
}

// renamed are flags that docker run knows by an old name too.
var renamed = map[string]string{"net": "network", "net-alias": "network-alias", "dns-opt": "dns-option"}

// flags are those that mean something to a sandbox.
func (p *parser) flags() []flag {
	c, l := &p.container, &p.said.Limits
	return []flag{
		{name: "cap-add", set: p.capability(&c.CapAdd)},
		{name: "cap-drop", set: p.dropCapability},
		{name: "privileged", boolean: true, set: toggle(&c.Privileged)},
		{name: "security-opt", set: p.security},
		{name: "group-add", set: list(&c.Groups)},
		{name: "runtime", set: text(&c.Runtime)},
		{name: "device", set: p.device},
		{name: "device-cgroup-rule", set: list(&c.DeviceRules)},
		{name: "gpus", set: p.gpus},

		{name: "ipc", set: text(&c.IPC)},
		{name: "uts", set: text(&c.UTS)},
		{name: "userns", set: text(&c.UserNS)},
		{name: "cgroupns", set: text(&c.CgroupNS)},

		{name: "network", set: p.network},
		{name: "network-alias", set: list(&c.NetworkAliases)},
		{name: "ip", set: text(&c.IP)},
		{name: "ip6", set: text(&c.IP6)},
		{name: "mac-address", set: text(&c.MAC)},
		{name: "publish", short: "p", set: p.publish},
		{name: "add-host", set: p.addHost},
		{name: "dns", set: list(&c.DNS)},
		{name: "dns-search", set: list(&c.DNSSearch)},
		{name: "dns-option", set: list(&c.DNSOptions)},
		{name: "hostname", short: "h", set: text(&c.Hostname)},
		{name: "domainname", set: text(&c.Domainname)},

		{name: "memory", short: "m", set: limit(&l.Memory)},
		{name: "memory-swap", set: size(&c.MemorySwap)},
		{name: "memory-reservation", set: size(&c.MemoryReservation)},
		{name: "shm-size", set: limit(&l.SharedMemory)},
		{name: "cpus", set: cpus(&l.CPUs)},
		{name: "cpu-shares", short: "c", set: number(&c.CPUShares)},
		{name: "cpuset-cpus", set: text(&c.CPUSet)},
		{name: "cpuset-mems", set: text(&c.MemorySet)},
		{name: "pids-limit", set: pids(&l.Pids)},
		{name: "oom-score-adj", set: p.oomScore},
		{name: "ulimit", set: p.ulimit},
		{name: "cgroup-parent", set: text(&c.CgroupParent)},
		{name: "storage-opt", set: p.storage},

		{name: "volume", short: "v", set: p.volume},
		{name: "mount", set: p.mount},
		{name: "tmpfs", set: p.tmpfs},
		{name: "read-only", boolean: true, set: toggle(&c.ReadOnlyRoot)},

		{name: "env", short: "e", set: p.variable},
		{name: "env-file", set: p.variables},
		{name: "user", short: "u", set: p.user},
		{name: "workdir", short: "w", set: text(&p.said.Cwd)},
		{name: "sysctl", set: pair(&c.Sysctls)},
		{name: "label", short: "l", set: pair(&c.Labels)},
		{name: "annotation", set: pair(&c.Annotations)},
	}
}

var (
	errNoSwitch = errors.New("it is neither true nor false")
	errNoSize   = errors.New("it is not a size like 512m or 2g")
)

func text(to *string) func(string) error {
	return func(value string) error { *to = value; return nil }
}

func list(to *[]string) func(string) error {
	return func(value string) error { *to = append(*to, value); return nil }
}

func toggle(to *bool) func(string) error {
	return func(value string) (err error) {
		if *to, err = strconv.ParseBool(value); err != nil {
			return errNoSwitch
		}
		return nil
	}
}

func number(to *int64) func(string) error {
	return func(value string) (err error) {
		if *to, err = strconv.ParseInt(value, 10, 64); err != nil {
			return errors.New("it is not a whole number")
		}
		return nil
	}
}

// size is in bytes, as Docker writes them; -1 means no bound.
func size(to *int64) func(string) error {
	return func(value string) error {
		if value == "-1" {
			*to = -1
			return nil
		}
		n, err := units.RAMInBytes(value)
		if err != nil || n < 0 || n == math.MaxInt64 {
			return errNoSize
		}
		*to = n
		return nil
	}
}

// limit is a size of which zero means none, in Docker's way.
func limit(to *int64) func(string) error {
	return func(value string) error {
		var n int64
		if err := size(&n)(value); err != nil || n < 0 {
			return errNoSize
		}
		*to = none(n)
		return nil
	}
}

func none(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}

func pids(to *int64) func(string) error {
	return func(value string) error {
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < -1 {
			return errors.New("it is not a number of processes")
		}
		*to = none(n)
		return nil
	}
}

// decimal is a number as people write it: no exponent, no hexadecimal, no Inf.
var decimal = regexp.MustCompile(`^\d{1,6}(\.\d{1,9})?$`)

func cpus(to *float64) func(string) error {
	return func(value string) error {
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || !decimal.MatchString(value) {
			return errors.New("it is not a number of processors like 1.5")
		}
		if *to = n; n == 0 {
			*to = -1
		}
		return nil
	}
}

// pair reads NAME=VALUE, or NAME with an empty value.
func pair(to *map[string]string) func(string) error {
	return func(text string) error {
		name, value, _ := strings.Cut(text, "=")
		if *to == nil {
			*to = make(map[string]string)
		}
		(*to)[name] = value
		return nil
	}
}

// capability takes a name in all of Docker's spellings.
func (p *parser) capability(to *[]string) func(string) error {
	return func(name string) error {
		*to = append(*to, strings.TrimPrefix(strings.ToUpper(name), "CAP_"))
		return nil
	}
}

func (p *parser) dropCapability(name string) error {
	if strings.EqualFold(name, sandbox.AllCaps) {
		p.warn("--cap-drop %s has no effect: every sandbox begins with none, and is given %s; name those that it shall not have",
			sandbox.AllCaps, strings.Join(sandbox.DefaultCapabilities(), ", "))
		return nil
	}
	return p.capability(&p.container.CapDrop)(name)
}

func (p *parser) user(value string) error {
	if _, _, err := (sandbox.Spec{User: value}).UserIDs(); err != nil {
		return err
	}
	p.said.User = value
	return nil
}

func (p *parser) oomScore(value string) (err error) {
	if p.container.OOMScoreAdj, err = strconv.Atoi(value); err != nil {
		return errors.New("it is not a whole number")
	}
	return nil
}

// ulimit is the last one of its name, as with Docker.
func (p *parser) ulimit(value string) error {
	u, err := units.ParseUlimit(value)
	if err != nil {
		return fmt.Errorf("%q is not NAME=SOFT[:HARD]", value)
	}
	all := slices.DeleteFunc(p.container.Ulimits, func(old sandbox.Ulimit) bool { return old.Name == u.Name })
	p.container.Ulimits = append(all, sandbox.Ulimit{Name: u.Name, Soft: u.Soft, Hard: u.Hard})
	return nil
}

// storage takes the one option that is a limit.
func (p *parser) storage(value string) error {
	name, bytes, _ := strings.Cut(value, "=")
	if name != "size" {
		return fmt.Errorf("the option %q is the engine's own affair; only size=BYTES is a sandbox's", name)
	}
	return limit(&p.said.Limits.Disk)(bytes)
}
