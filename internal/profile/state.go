package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// StateFile is where a profile keeps what is wanted of its gateway and what that last was.
const StateFile = "gateway_state.json"

// The keys of the state file that are known here. It may have others; they are kept.
const (
	keyDesired = "desired_state"
	keyGateway = "gateway_state"
	keyUpdated = "updated_at"
	keyPID     = "pid"
	keyOrigin  = "origin"
)

// What a gateway can be, as far as anything here depends on it.
const (
	Running  = "running"
	Stopped  = "stopped"
	draining = "draining"
	degraded = "degraded"
)

// State is what a state file says. The zero value is that of a profile without one.
type State struct {
	// Desired is what its owner asked for last, and Gateway what the gateway said of itself. Each is "" where
	// the file does not have it, and the JSON itself where it is no word.
	Desired, Gateway string
	// PID is that of the gateway which wrote the file, or 0.
	PID int
	// Found says whether there was a file that could be understood.
	Found bool
}

// Text is the state that decides: what was asked for, or else what the gateway last was.
func (s State) Text() string {
	if s.Desired != "" {
		return s.Desired
	}
	return s.Gateway
}

// Autostart says whether the gateway comes back by itself. One that drained or was degraded when its container went
// away was running; one that failed to start was not.
func (s State) Autostart() bool {
	if s.Desired != "" {
		return s.Desired == Running
	}
	return s.Gateway == Running || s.Gateway == draining || s.Gateway == degraded
}

// fields are a state file's keys with their values as they were written.
type fields map[string]json.RawMessage

// parse reads the content of a state file. What is not an object is none.
func parse(content []byte) (fields, error) {
	content = bytes.TrimPrefix(content, []byte("\ufeff")) // some editors begin a file with that
	if len(bytes.TrimSpace(content)) == 0 {
		return nil, errors.New("it is empty")
	}
	var f fields
	if err := json.Unmarshal(content, &f); err != nil {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			return nil, errors.New("it holds no JSON object, but " + wrong.Value)
		}
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if f == nil {
		return nil, errors.New("it holds no JSON object, but null")
	}
	return f, nil
}

func (f fields) state() State {
	s := State{Desired: f.text(keyDesired), Gateway: f.text(keyGateway), Found: true}
	if json.Unmarshal(f[keyPID], &s.PID) != nil || s.PID < 0 {
		s.PID = 0
	}
	return s
}

// text is a key's string; of another value, or an empty one, it is the JSON: it is there, and no state that anybody knows.
func (f fields) text(key string) string {
	raw := f[key]
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil && s != "" {
		return s
	}
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // it was parsed once
	return b.String()
}

// bytes is the content of a file with these keys, one a line. What is in them is not spread out: indented, a file is as
// large as the square of its depth, and whoever wrote it would decide how much memory PID 1 needs.
func (f fields) bytes() ([]byte, error) {
	b := bytes.NewBufferString("{")
	separator := "\n"
	for _, key := range slices.Sorted(maps.Keys(f)) {
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		b.WriteString(separator + "  " + string(name) + ": ")
		if err := json.Compact(b, f[key]); err != nil {
			return nil, err
		}
		separator = ",\n"
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}
