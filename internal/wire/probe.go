package wire

// TypeProbe asks what is enforced on commands, and answers with Probe.
const TypeProbe Type = 70

// CanProbe is a guest that knows TypeProbe.
const CanProbe = "probe"

// Probe is what a process found out about itself that was started as every
// command is. It holds what was seen and no judgement: what should be so is known
// outside, and so is what belongs to the host.
type Probe struct {
	UID    int    `json:"uid"`
	GID    int    `json:"gid"`
	UIDMap string `json:"uid_map"` // as in /proc/self/uid_map
	GIDMap string `json:"gid_map"`
	// Capabilities are those that a command has or can get.
	Capabilities    []string `json:"capabilities"`
	NoNewPrivileges bool     `json:"no_new_privileges"`
	// Seccomp says that a filter is loaded.
	Seccomp bool `json:"seccomp"`
	// Landlock says whether it kept the process from something that nothing else
	// forbids: LandlockHolds, LandlockLacks, or empty where that could not be tried.
	Landlock    string `json:"landlock"`
	LandlockABI int    `json:"landlock_abi"`
	// Namespaces are the links in /proc/self/ns by their names.
	Namespaces map[string]string `json:"namespaces"`
	Mounts     []ProbedMount     `json:"mounts"`
	// WritableRoot are directories of programs and settings that can be written.
	WritableRoot []string `json:"writable_root,omitempty"`
	// Interfaces are the network's devices.
	Interfaces []string `json:"interfaces"`
	// Limits are hard resource limits by name; those that are missing are infinite.
	Limits map[string]uint64 `json:"limits"`
	Trials []Trial           `json:"trials"`
}

// ProbedMount is a line of /proc/self/mountinfo.
type ProbedMount struct {
	System   string `json:"system"` // major:minor of its file system
	Root     string `json:"root"`   // what of the file system is shown
	Target   string `json:"target"`
	Type     string `json:"type"`
	ReadOnly bool   `json:"read_only"`
	// Device says that it is a device node, whose mount does not limit its use.
	Device bool `json:"device,omitempty"`
}

// Trial is something that was tried and should not work inside.
type Trial struct {
	Name    string `json:"name"`
	Refused bool   `json:"refused"`
	Answer  string `json:"answer"` // the kernel's
}

// What is known of Landlock.
const (
	LandlockHolds = "holds"
	LandlockLacks = "lacks"
)
