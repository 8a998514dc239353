package client

import "hermes.example/hermes/sandbox"

// Sandbox is one sandbox as the list shows it.
type Sandbox struct {
	sandbox.Info
	// Status is absent when nothing runs, or when the guest does not answer.
	Status *sandbox.Status `json:"status,omitempty"`
	// Problem is why a running sandbox has no status.
	Problem string `json:"problem,omitempty"`
}

// SandboxList is the sandboxes of a profile.
type SandboxList struct {
	Sandboxes []Sandbox `json:"sandboxes"`
}

// SandboxSheet is all that is known of one sandbox.
type SandboxSheet struct {
	Sandbox
	// Posture is what is enforced, found out by trying. It is empty where nothing runs.
	Posture sandbox.Posture `json:"posture"`
	// Sessions are the shell sessions, by name.
	Sessions map[string]sandbox.SessionState `json:"sessions,omitempty"`
}

// SandboxSpec says what a sandbox is to be like. What is left out is as the profile's configuration wants it.
type SandboxSpec struct {
	Image *string `json:"image,omitempty" jsonschema:"the image that the root is made of; empty means the machine's own programs"`
	Cwd   *string `json:"cwd,omitempty" jsonschema:"where commands start"`
	// Env is added to the configured variables.
	Env       map[string]string `json:"env,omitempty" jsonschema:"variables of all commands"`
	Network   *string           `json:"network,omitempty" jsonschema:"none, bridge or host"`
	User      *string           `json:"user,omitempty" jsonschema:"who commands run as inside: uid or uid:gid"`
	Memory    *int64            `json:"memory,omitempty" jsonschema:"bytes; negative means no limit"`
	CPUs      *float64          `json:"cpus,omitempty"`
	Pids      *int64            `json:"pids,omitempty" jsonschema:"processes and threads; negative means no limit"`
	Ephemeral *bool             `json:"ephemeral,omitempty" jsonschema:"keeps nothing, and ends with the gateway's hold on it"`
	// Require names facts of the posture without which the sandbox must not be.
	Require []string `json:"require,omitempty" jsonschema:"facts of the posture without which the sandbox must not be"`
}

// Removed says what was removed.
type Removed struct {
	Removed []string `json:"removed"`
	Files   bool     `json:"files" jsonschema:"what it kept was removed too"`
}

// Fork asks for copies of an idle sandbox.
type Fork struct {
	// Tasks are the copies' names.
	Tasks []string `json:"tasks" jsonschema:"the names of the copies"`
}

// Forked says which copies were made.
type Forked struct {
	Tasks []string `json:"tasks"`
	sandbox.Carried
}
