package supervise

import "fmt"

// ControlError is a supervisor's refusal of, or failure at, what it was asked: what its own tool ended with and said.
type ControlError struct {
	Service string
	Action  string // "start", "stop", …
	Code    int    // the tool's status; 111 is s6's word for "not permitted", among others
	Stderr  string
}

func (e *ControlError) Error() string {
	if e.Stderr == "" {
		return fmt.Sprintf("cannot %s %s: the supervisor's tool ended with rc=%d", e.Action, e.Service, e.Code)
	}
	return fmt.Sprintf("cannot %s %s: the supervisor's tool ended with rc=%d: %s", e.Action, e.Service, e.Code, e.Stderr)
}
