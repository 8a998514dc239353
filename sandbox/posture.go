package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// Posture is what is really enforced on a sandbox: what its engine set up, held
// against what a process inside finds when it tries.
type Posture struct {
	Facts []Fact `json:"facts"`
	// Host is what of the host's file systems is visible inside.
	Host []HostPath `json:"host,omitempty"`
	// Trials are what was tried inside and should be refused.
	Trials []Trial `json:"trials,omitempty"`
	// Untried says why nothing could be tried, or is empty.
	Untried string `json:"untried,omitempty"`
}

// HostPath is a part of the host's file systems.
type HostPath struct {
	Path     string `json:"path"` // inside
	Writable bool   `json:"writable"`
	Device   bool   `json:"device,omitempty"`
}

// Trial is something that was tried inside.
type Trial struct {
	Name    string `json:"name"`
	Refused bool   `json:"refused"`
	Answer  string `json:"answer"` // the kernel's
}

// Fact is one line of a posture.
type Fact struct {
	Name string `json:"name"`
	// Value is what was found, for people.
	Value string `json:"value"`
	// Enforced says that the protection or limit is in force.
	Enforced bool `json:"enforced"`
	// Deviation says what is weaker than the default, or is empty.
	Deviation string `json:"deviation,omitempty"`
}

// Names of facts, which are also what Spec.Require can demand.
const (
	FactIsolation    = "isolation"
	FactNamespaces   = "namespaces"
	FactIDs          = "ids"
	FactCapabilities = "capabilities"
	FactPrivileges   = "no-new-privileges"
	FactSeccomp      = "seccomp"
	FactLandlock     = "landlock"
	FactMemory       = "memory"
	FactCPUs         = "cpus"
	FactPids         = "pids"
	FactDisk         = "disk"
	FactNetwork      = "network"
	FactRoot         = "root"
	FactTreeKill     = "tree-kill"
	FactLifetime     = "lifetime"
	FactHost         = "host"  // what of the host's files is visible
	FactCalls        = "calls" // what was tried inside
)

// FactNames lists what can be demanded.
func FactNames() []string {
	return []string{FactIsolation, FactNamespaces, FactIDs, FactCapabilities, FactPrivileges, FactSeccomp, FactLandlock,
		FactMemory, FactCPUs, FactPids, FactDisk, FactNetwork, FactRoot, FactTreeKill, FactLifetime, FactHost, FactCalls}
}

// Deviations lists what is weaker than the default.
func (p Posture) Deviations() []Fact {
	return slices.DeleteFunc(slices.Clone(p.Facts), func(f Fact) bool { return f.Deviation == "" })
}

// CheckSetUp is Check for an engine that has just set a sandbox up: of the facts that
// only a trial can show it demands none.
func (p Posture) CheckSetUp(require []string) error {
	return p.Check(slices.DeleteFunc(slices.Clone(require), func(name string) bool { return name == FactHost || name == FactCalls }))
}

// Check says which of the demanded facts are not enforced. What could not be tried
// does not count as enforced.
func (p Posture) Check(require []string) error {
	var missing []string
	if p.Untried != "" && len(require) > 0 {
		missing = append(missing, p.Untried)
	}
	for _, name := range require {
		i := slices.IndexFunc(p.Facts, func(f Fact) bool { return f.Name == name })
		switch {
		case !slices.Contains(FactNames(), name):
			return unknownFact(name)
		case i < 0:
			missing = append(missing, name)
		case !p.Facts[i].Enforced:
			reason := p.Facts[i].Deviation
			if reason == "" {
				reason = p.Facts[i].Value
			}
			missing = append(missing, fmt.Sprintf("%s (%s)", name, reason))
		}
	}
	if len(missing) > 0 {
		return &PostureError{Missing: missing}
	}
	return nil
}

func unknownFact(name string) error {
	return fmt.Errorf("cannot require %q: it is none of %s", name, strings.Join(FactNames(), ", "))
}

// PostureError means that this machine cannot enforce what was demanded.
type PostureError struct{ Missing []string }

func (e *PostureError) Error() string {
	return "cannot enforce what was required here: " + strings.Join(e.Missing, "; ")
}
