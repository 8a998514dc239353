package keeper

import (
	"context"
	"encoding/json"
	"errors"

	"hermes.example/hermes/internal/addon/backend"
	"hermes.example/hermes/internal/addon/unavailable"
)

// What is asked for, over HTTP. The paths have no version: keeper and caller are of one build, or the caller goes no
// further than to learn that they are not.
const (
	callPath   = "/call"
	toolsPath  = "/tools"
	statusPath = "/status"
	leavePath  = "/leave"

	// buildHeader is what each side says of itself.
	buildHeader = "Hermes-Build"
)

// Bounds of what is sent.
const (
	largestRequest = 8 << 20
	largestAnswer  = 256 << 20 // backends have a bound of their own below it
	headerBytes    = 16 << 10
)

// request is a call, or without a tool the question which there are.
type request struct {
	Feature   string            `json:"feature"`
	Tool      string            `json:"tool,omitempty"`
	Arguments json.RawMessage   `json:"arguments,omitempty"`
	Variables map[string]string `json:"variables,omitempty"`
}

// answer is what came of it: one of the three.
type answer struct {
	Result  *backend.Result `json:"result,omitempty"`
	Tools   []backend.Tool  `json:"tools,omitempty"`
	Failure *failure        `json:"failure,omitempty"`
}

// failure is an error on its way to another process. Those that a caller acts upon stay what they are.
type failure struct {
	Unavailable *reason `json:"unavailable,omitempty"`
	TimedOut    bool    `json:"timed_out,omitempty"`
	Message     string  `json:"message,omitempty"`
}

type reason struct {
	Feature string           `json:"feature"`
	Missing []string         `json:"missing,omitempty"`
	Kind    unavailable.Kind `json:"kind"`
	Reason  string           `json:"reason"`
	Next    string           `json:"next,omitempty"`
}

func newFailure(err error) *failure {
	f := &failure{TimedOut: errors.Is(err, context.DeadlineExceeded), Message: err.Error()}
	var known *unavailable.Error
	if errors.As(err, &known) {
		f.Unavailable = &reason{known.Feature, known.Missing, known.Kind, known.Reason, known.Next}
	}
	return f
}

func (f *failure) err() error {
	var cause error
	if f.TimedOut {
		cause = context.DeadlineExceeded
	}
	if r := f.Unavailable; r != nil {
		return &unavailable.Error{Feature: r.Feature, Missing: r.Missing, Kind: r.Kind, Reason: r.Reason, Next: r.Next, Cause: cause}
	}
	return &remoteError{f.Message, cause}
}

// remoteError is an error of the keeper's process, in its words.
type remoteError struct {
	message string
	cause   error
}

func (e *remoteError) Error() string { return e.message }

func (e *remoteError) Unwrap() error { return e.cause }
