package client

import (
	"fmt"

	"hermes.example/hermes/sandbox"
)

// IdempotencyKey is the header that names a command: the same name never runs twice in a sandbox.
const IdempotencyKey = "Idempotency-Key"

// ExecRequest is a command to run. Exactly one of Argv and Line is set.
type ExecRequest struct {
	Argv    []string          `json:"argv,omitempty" jsonschema:"a program and its arguments"`
	Line    string            `json:"line,omitempty" jsonschema:"a line for the sandbox's shell"`
	Session string            `json:"session,omitempty" jsonschema:"the session whose directory, variables, functions and aliases it has, and may change; none without it"`
	Env     map[string]string `json:"env,omitempty" jsonschema:"variables that it gets beside those of the sandbox"`
	Cwd     string            `json:"cwd,omitempty" jsonschema:"the directory that it runs in"`
	Stdin   *Data             `json:"stdin,omitempty" jsonschema:"what it reads; nothing without it"`
	Timeout float64           `json:"timeout,omitempty" jsonschema:"after so many seconds it is ended with its whole tree; never if it is zero"`
	Grace   float64           `json:"grace,omitempty" jsonschema:"the seconds that its tree has between the request to end and the kill"`
	Window  int64             `json:"window,omitempty" jsonschema:"how many bytes of its output are kept for a caller that comes back"`
	// Limit bounds the answer in JSON only: a stream has everything.
	Limit int64 `json:"limit,omitempty" jsonschema:"how many bytes of each output stream the answer holds, the last ones; a default if it is zero"`
	Merge bool  `json:"merge,omitempty" jsonschema:"put the error output into the output, in order"`
}

// ExecAnswer is a command that has ended, or one that is looked at while it runs.
type ExecAnswer struct {
	ID     string          `json:"id" jsonschema:"what the command is called; it can be followed and interrupted by it"`
	Stdout ExecOutput      `json:"stdout"`
	Stderr ExecOutput      `json:"stderr"`
	Result *sandbox.Result `json:"result,omitempty" jsonschema:"how it ended; absent while it runs"`
}

// ExecOutput is a part of what a command has written.
type ExecOutput struct {
	Data
	Offset int64 `json:"offset" jsonschema:"where in the stream the first of these bytes is"`
	End    int64 `json:"end" jsonschema:"where the byte after the last of these is"`
}

// The events of a command as it is told by server-sent events.
const (
	// EventOutput has an [ExecPiece]; its id is the [Position] after it.
	EventOutput = "output"
	// EventExit has the [sandbox.Result], and is the last.
	EventExit = "exit"
	// EventDraining says that the gateway ends: a command with a key goes on, and can be followed from the next one.
	EventDraining = "draining"
	// EventError has a [Problem], and is the last.
	EventError = "error"
)

// The streams of a command.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// ExecPiece is some output of a command.
type ExecPiece struct {
	Data
	Stream string `json:"stream" jsonschema:"stdout or stderr"`
	Offset int64  `json:"offset" jsonschema:"where in the stream the first of these bytes is"`
	Missed int64  `json:"missed,omitempty" jsonschema:"how many bytes before these were no longer kept"`
}

// Position is how much a caller has of the output of a command: the id of an event, and what Last-Event-ID gives back.
type Position struct {
	Stdout, Stderr int64
}

// String is "OUT-ERR".
func (p Position) String() string { return fmt.Sprintf("%d-%d", p.Stdout, p.Stderr) }

// ParsePosition reads what String wrote.
func ParsePosition(s string) (Position, error) {
	var p Position
	if n, err := fmt.Sscanf(s, "%d-%d", &p.Stdout, &p.Stderr); n != 2 || err != nil || p.Stdout < 0 || p.Stderr < 0 || p.String() != s {
		return Position{}, fmt.Errorf("%q is no position: it is two offsets, as in 4096-0", s)
	}
	return p, nil
}
