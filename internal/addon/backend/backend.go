// Package backend runs what add-ons bring as processes of their own, which speak MCP over their standard input and
// output. The worst that one can do is to fail, and then it is reported unavailable with the reason.
//
// The keeper and the gateway call it. A backend runs in a sandbox of the local engine, which ends with it; the package
// knows sandboxes, and nothing of engines.
//
// What a backend writes is never trusted: a line is looked at before the protocol's library sees it, and what is not a
// whole message of it either counts as something it said, or ends it.
package backend

import (
	"cmp"
	"encoding/json"
	"time"
)

// Launch is how a backend is started.
type Launch struct {
	Feature string
	Argv    []string
	// Dir is where it runs.
	Dir string
	// Env is all of its environment. Secrets are the names of those of its variables that nobody may see: their values
	// are taken out of whatever is repeated of its output.
	Env     map[string]string
	Secrets []string
	Bounds  Bounds
}

// Bounds are what a backend may use. Zero values mean the defaults.
type Bounds struct {
	Start  time.Duration // until it has said which tools it has
	Call   time.Duration
	Memory int64 // bytes, of each of its processes
	Answer int64 // bytes of one message
}

func (b Bounds) normal() Bounds {
	return Bounds{
		Start: cmp.Or(b.Start, time.Minute), Call: cmp.Or(b.Call, 2*time.Minute),
		Memory: cmp.Or(b.Memory, 1<<30), Answer: cmp.Or(b.Answer, 16<<20),
	}
}

// Tool is one that a backend offers.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input"` // a JSON schema
}

// Result is what a tool answered. A tool that says it failed has answered.
type Result struct {
	// Content is its content blocks as the protocol has them.
	Content json.RawMessage `json:"content"`
	// Structured is its result as an object, where it has one.
	Structured json.RawMessage `json:"structured,omitempty"`
	Failed     bool            `json:"failed,omitempty"`
}
