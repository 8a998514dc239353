// Package unavailable is the one way to say that a feature cannot be had.
package unavailable

// Kind is why.
type Kind string

const (
	Unknown     Kind = "unknown"     // not in the list
	Unsupported Kind = "unsupported" // not on this platform, or not on a managed system
	Unsafe      Kind = "unsafe"      // a requirement that is none
	Disabled    Kind = "disabled"    // the gate
	Declined    Kind = "declined"    // at the prompt
	Conflict    Kind = "conflict"    // with the core or with another feature
	Failed      Kind = "failed"      // the installer
	Target      Kind = "target"      // the store cannot be written
	Rejected    Kind = "rejected"    // what was installed must not be published
	NoInstaller Kind = "installer"   // neither uv nor pip
	Incomplete  Kind = "incomplete"  // installed, and still not importable
	NoRuntime   Kind = "runtime"     // there is no sealed runtime
)

// Error says which feature, what is missing of it, and why.
type Error struct {
	Feature string
	Missing []string
	Kind    Kind
	Reason  string
}
