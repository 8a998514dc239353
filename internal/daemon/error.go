package daemon

import (
	"fmt"
	"strings"
)

// Reason is why there is no engine to speak to.
type Reason string

// The reasons. Only an engine that does not answer may do so a moment later without anybody doing something.
const (
	NotFound     Reason = "not found"     // nothing is there
	NotAllowed   Reason = "not allowed"   // it is there, but not for this user
	NotAnswering Reason = "not answering" // something is there, but it refuses, hangs or fails
	Unusable     Reason = "unusable"      // what was chosen cannot be used, or is something else
)

// Error says why there is no engine, and what to do.
type Error struct {
	Reason Reason
	// Kind is what was expected there; empty where either was.
	Kind Kind
	// Host is the address, empty where there is none to name.
	Host string
	// From is who chose it; empty where nobody did.
	From string
	Why  string
	Fix  string
	// Others are further places that could not be used either.
	Others []*Error

	what string // that could not be done
	err  error
}

func (e *Error) Error() string {
	var others strings.Builder
	for _, o := range e.Others {
		fmt.Fprintf(&others, "; nor %s: %s", o.what, o.Why)
	}
	return "cannot " + e.what + ": " + e.Why + others.String() + "; " + e.Fix
}

func (e *Error) Unwrap() error { return e.err }

// longest is how much is repeated of what others say: whatever listens there may answer with a web page.
const longest = 300

// oneLine makes one line, not too long, of what an engine or a library says.
func oneLine(s string) string {
	line := []rune(strings.Join(strings.Fields(s), " "))
	if len(line) > longest {
		return string(line[:longest]) + "…"
	}
	return string(line)
}
