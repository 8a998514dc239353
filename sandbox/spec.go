package sandbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Spec says what a sandbox is like. The zero Spec is a hardened, persistent
// sandbox without network.
type Spec struct {
	// Image is the root's origin: a name in a registry, "oci:DIRECTORY" or
	// "archive:FILE"; empty means the host's own programs, read-only.
	Image string `json:"image,omitempty"`
	// Cwd is where commands start; empty means where the image says, else /workspace.
	Cwd string `json:"cwd,omitempty"`
	// Env is added to the sandbox's environment.
	Env    map[string]string `json:"env,omitempty"`
	Mounts []Mount           `json:"mounts,omitempty"`
	Limits Limits            `json:"limits"`
	// Network is what the sandbox can reach; empty means the engine's default.
	Network Network `json:"network,omitempty"`
	// User is who commands run as inside, "uid" or "uid:gid"; empty means whom the
	// image names, else root of the sandbox.
	User string `json:"user,omitempty"`
	// Ephemeral sandboxes keep nothing and end with their last user.
	Ephemeral bool `json:"ephemeral,omitempty"`
	// Keep lets an ephemeral sandbox keep the files of its home and workspace, in
	// engines of containers.
	Keep bool `json:"keep,omitempty"`
	// Chosen names what whoever made the sandbox chose himself, as Difference calls
	// it; the rest is the configuration's, and follows it. It makes no difference to
	// the sandbox.
	Chosen []string `json:"chosen,omitempty"`
	// Container is what only engines of containers can do.
	Container *Container `json:"container,omitempty"`
	// Require names parts of the posture without which the sandbox must not be.
	Require []string `json:"-"`
	// Successor says that the sandbox will be given sessions of an earlier one: its
	// guest begins none before they are there.
	Successor bool `json:"-"`
}

// Mount makes a file or directory of the host visible in the sandbox.
type Mount struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"read_only,omitempty"`
	// Origin is who asked for it. It makes no difference to the sandbox.
	Origin Origin `json:"origin,omitempty"`
}

// Origin says who asked for a mount, and so who may take it back.
type Origin string

// The origins.
const (
	ByCaller  Origin = ""        // whoever made the sandbox
	ByConfig  Origin = "config"  // the configuration: volumes, the caller's directory
	ByProfile Origin = "profile" // what every sandbox of the home has: credentials, skills, caches
)

// Limits bound what all commands of a sandbox use together. Zero means the
// default, a negative value means no limit.
type Limits struct {
	Memory int64   `json:"memory,omitempty"` // bytes
	CPUs   float64 `json:"cpus,omitempty"`
	Pids   int64   `json:"pids,omitempty"`
	// Disk and SharedMemory, in bytes, are for engines of containers.
	Disk         int64 `json:"disk,omitempty"`
	SharedMemory int64 `json:"shared_memory,omitempty"`
}

// The default limits. Threads count as processes, and a build on a large machine
// has many; that is why there are more of them than the contract's 256.
const (
	DefaultMemory = 5120 << 20
	DefaultPids   = 1024
)

// Network is how much of the network a sandbox sees.
type Network string

// The networks.
const (
	NetworkNone   Network = "none"
	NetworkBridge Network = "bridge" // a network of the engine's, from which the outside is reached
	NetworkHost   Network = "host"
)

// Paths of a sandbox that every engine provides.
const (
	Home      = "/root"
	Workspace = "/workspace"
)

// Normal fills in what empty fields mean. The normal form of a normal form is
// itself.
func (s Spec) Normal() Spec {
	if s.Cwd == "" && s.Image == "" {
		s.Cwd = Workspace
	}
	if s.Cwd == "~" || strings.HasPrefix(s.Cwd, "~/") {
		s.Cwd = Home + s.Cwd[1:]
	}
	if s.Network == "" {
		s.Network = NetworkNone
	}
	if s.Limits.Memory == 0 {
		s.Limits.Memory = DefaultMemory
	}
	if s.Limits.Pids == 0 {
		s.Limits.Pids = DefaultPids
	}
	if len(s.Mounts) > 0 {
		s.Mounts = slices.Clone(s.Mounts)
		for i := range s.Mounts {
			s.Mounts[i].Target = path.Clean(s.Mounts[i].Target)
		}
		slices.SortFunc(s.Mounts, func(a, b Mount) int { return strings.Compare(a.Target, b.Target) })
	}
	s.Limits.Memory, s.Limits.CPUs, s.Limits.Pids = max(s.Limits.Memory, -1), max(s.Limits.CPUs, 0), max(s.Limits.Pids, -1)
	s.Limits.SharedMemory, s.Limits.Disk = max(s.Limits.SharedMemory, -1), max(s.Limits.Disk, -1)
	s.Container = s.Container.normal()
	return s
}

// Validate says what is wrong with a spec, in one line.
func (s Spec) Validate() error {
	if !isText(s.Image) {
		return fmt.Errorf("the image name %q is not text", s.Image)
	}
	if !slices.Contains([]Network{"", NetworkNone, NetworkBridge, NetworkHost}, s.Network) {
		return fmt.Errorf("unknown network %q: use %q, %q or %q", s.Network, NetworkNone, NetworkBridge, NetworkHost)
	}
	if !isText(s.Cwd) {
		return fmt.Errorf("the working directory %q is not text", s.Cwd)
	}
	if s.Cwd != "" && !path.IsAbs(s.Cwd) && s.Cwd != "~" && !strings.HasPrefix(s.Cwd, "~/") {
		return fmt.Errorf("the working directory %q is not absolute", s.Cwd)
	}
	if _, _, err := s.UserIDs(); err != nil {
		return err
	}
	for name, value := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("%q is not a name for an environment variable", name)
		}
		if !isText(name) || !isText(value) {
			return fmt.Errorf("the value of %q is not text: give it to the commands that need it", name)
		}
	}
	for _, name := range s.Require {
		if !slices.Contains(FactNames(), name) {
			return unknownFact(name)
		}
	}
	targets := make(map[string]bool)
	for _, m := range s.Mounts {
		if err := m.validate(); err != nil {
			return err
		}
		if targets[path.Clean(m.Target)] {
			return fmt.Errorf("two mounts at %s", m.Target)
		}
		targets[path.Clean(m.Target)] = true
	}
	return s.Container.validate(s.Network, targets)
}

// isText says whether s survives being written down. A spec that does not could
// be taken for another one.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// protected targets would take from the sandbox what makes it one.
var protected = []string{"/", "/proc", "/dev", "/sys"}

func (m Mount) validate() error {
	if !isText(m.Source) || !isText(m.Target) {
		return fmt.Errorf("cannot mount %q at %q: the name is not text", m.Source, m.Target)
	}
	if !filepath.IsAbs(m.Source) {
		return fmt.Errorf("the mount source %q is not absolute", m.Source)
	}
	return checkTarget(m.Target)
}

// checkTarget says why nothing can be mounted there.
func checkTarget(at string) error {
	if !path.IsAbs(at) {
		return fmt.Errorf("the mount target %q is not absolute", at)
	}
	target := path.Clean(at)
	for _, p := range protected {
		if target == p || p != "/" && strings.HasPrefix(target, p+"/") {
			return fmt.Errorf("cannot mount at %s: it belongs to the sandbox itself", at)
		}
	}
	return nil
}

// UserIDs returns who commands run as.
func (s Spec) UserIDs() (uid, gid int, err error) {
	if s.User == "" {
		return 0, 0, nil
	}
	u, g, both := strings.Cut(s.User, ":")
	if !both {
		g = u
	}
	uid64, err1 := strconv.ParseUint(u, 10, 31)
	gid64, err2 := strconv.ParseUint(g, 10, 31)
	if err1 != nil || err2 != nil {
		return 0, 0, fmt.Errorf("%q is not a user: give numbers, as in 1000 or 1000:1000", s.User)
	}
	return int(uid64), int(gid64), nil
}

// Hash names everything that makes one sandbox different from another. What the
// spec demands of the posture is not part of it: that is asked, not built.
func (s Spec) Hash() string {
	s = s.Normal()
	s.Chosen = nil
	for i := range s.Mounts {
		s.Mounts[i].Origin = ""
	}
	data, err := json.Marshal(s)
	if err != nil {
		panic("sandbox: a spec always has a JSON form: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:12])
}

// Public is the spec without the values of its variables, which may be secrets.
func (s Spec) Public() Spec {
	if len(s.Env) > 0 {
		env := make(map[string]string, len(s.Env))
		for name := range s.Env {
			env[name] = ""
		}
		s.Env = env
	}
	return s
}

// Difference lists in words how two specs differ. The values of variables are
// not compared: see Hash.
func (s Spec) Difference(other Spec) []string {
	a, b := s.Normal(), other.Normal()
	var diff []string
	add := func(what string, x, y any) {
		if x != y {
			diff = append(diff, fmt.Sprintf("%s: %v → %v", what, x, y))
		}
	}
	add("image", a.Image, b.Image)
	if a.Image == b.Image || a.Cwd != "" && b.Cwd != "" { // otherwise it is the image's to say
		add("cwd", a.Cwd, b.Cwd)
	}
	add("memory", a.Limits.Memory, b.Limits.Memory)
	add("cpus", a.Limits.CPUs, b.Limits.CPUs)
	add("pids", a.Limits.Pids, b.Limits.Pids)
	add("disk", a.Limits.Disk, b.Limits.Disk)
	add("shared memory", a.Limits.SharedMemory, b.Limits.SharedMemory)
	add("network", a.Network, b.Network)
	add("user", a.User, b.User)
	add("ephemeral", a.Ephemeral, b.Ephemeral)
	add("keeps files", a.Keep, b.Keep)
	if changed := mountChanges(a.Mounts, b.Mounts); len(changed) > 0 {
		diff = append(diff, "mounts: "+strings.Join(changed, ", "))
	}
	add("variables", fmt.Sprint(slices.Sorted(maps.Keys(a.Env))), fmt.Sprint(slices.Sorted(maps.Keys(b.Env))))
	diff = append(diff, a.Container.difference(b.Container)...)
	if len(diff) == 0 {
		diff = append(diff, "the value of a variable")
	}
	return diff
}

// mountChanges says where something else is mounted.
func mountChanges(a, b []Mount) []string {
	x, y := atTargets(a), atTargets(b)
	both := maps.Clone(x)
	maps.Copy(both, y)
	var changed []string
	for _, target := range slices.Sorted(maps.Keys(both)) {
		if x[target] != y[target] {
			changed = append(changed, fmt.Sprintf("%s from %s → %s", target, cmp.Or(x[target], "none"), cmp.Or(y[target], "none")))
		}
	}
	return changed
}

// atTargets says what is mounted at each target.
func atTargets(mounts []Mount) map[string]string {
	found := make(map[string]string, len(mounts))
	for _, m := range mounts {
		found[m.Target] = m.Source
		if m.ReadOnly {
			found[m.Target] += " read-only"
		}
	}
	return found
}
