// Package unavailable is the one way to say that a feature cannot be had: which one, what of it
// is missing, why, and what a person can do. The words that scripts and other programs look for
// are made here and nowhere else. It decides nothing.
package unavailable

import (
	"encoding/json"
	"strings"

	"hermes.example/hermes/internal/addon/pep508"
)

// Kind is why. As a target of errors.Is it matches every Error of its kind.
type Kind string

// The kinds.
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
	NoInstaller Kind = "installer"   // neither uv nor pip, or no npm
	Incomplete  Kind = "incomplete"  // installed, and still not importable
	NoRuntime   Kind = "runtime"     // there is no sealed runtime
	Backend     Kind = "backend"     // its process
)

func (k Kind) Error() string { return "feature unavailable: " + string(k) }

// Error says which feature, what is missing of it, and why.
type Error struct {
	Feature string
	Missing []string // requirements
	Kind    Kind
	Reason  string // may have several lines, where it repeats what an installer said
	Next    string // what to do about it, where there is something
	Cause   error  // what it comes from, where a caller may want to know
}

// For is the error about a feature, for those who found out why without knowing for what.
func (e *Error) For(feature string, missing []string) *Error {
	about := *e
	about.Feature, about.Missing = feature, missing
	return &about
}

// Error is all in one line.
func (e *Error) Error() string {
	parts := []string{e.headline() + e.Reason}
	if e.Next != "" {
		parts = append(parts, e.Next)
	}
	if c := e.commands(); c != nil {
		parts = append(parts, "to install it by hand: "+c.UV+" (or: "+c.Pip+")")
	}
	return oneLine(strings.Join(parts, "; "))
}

// Text is the same in several lines, for a person at a terminal.
func (e *Error) Text() string {
	var b strings.Builder
	b.WriteString(oneLine(e.headline()) + " " + printable(e.Reason) + "\n")
	if e.Next != "" {
		b.WriteString("What to do: " + printable(e.Next) + "\n")
	}
	if c := e.commands(); c != nil {
		b.WriteString("To install it by hand, into an environment of your own:\n  " + c.UV + "\n  " + c.Pip + "\n")
	}
	return b.String()
}

func (e *Error) headline() string {
	if e.Feature == "" {
		return "add-ons are unavailable: "
	}
	return "feature " + quoted(e.Feature) + " is unavailable: "
}

// MarshalJSON is what `--json` prints.
func (e *Error) MarshalJSON() ([]byte, error) {
	missing := e.Missing
	if missing == nil {
		missing = []string{}
	}
	return json.Marshal(struct {
		Feature string    `json:"feature"`
		Kind    Kind      `json:"kind"`
		Missing []string  `json:"missing"`
		Reason  string    `json:"reason"`
		Next    string    `json:"next,omitempty"`
		ByHand  *commands `json:"by_hand,omitempty"`
	}{e.Feature, e.Kind, missing, printable(e.Reason), e.Next, e.commands()})
}

// Is matches the error's own kind.
func (e *Error) Is(target error) bool {
	kind, ok := target.(Kind)
	return ok && kind == e.Kind
}

func (e *Error) Unwrap() error { return e.Cause }

// commands install what is missing without Hermes.
type commands struct {
	UV  string `json:"uv"`
	Pip string `json:"pip"`
}

// commands are nil where nothing is missing. They are for people to copy, so a requirement that
// is none does not get into them.
func (e *Error) commands() *commands {
	if len(e.Missing) == 0 {
		return nil
	}
	var specs strings.Builder
	for _, spec := range e.Missing {
		if _, err := pep508.Parse(spec); err != nil {
			return nil
		}
		specs.WriteString(" " + quoted(spec))
	}
	return &commands{UV: "uv pip install" + specs.String(), Pip: "python3 -m pip install" + specs.String()}
}

// quoted is for every shell there is: nothing that stands in it here means anything to one in
// double quotes.
func quoted(text string) string { return `"` + text + `"` }
