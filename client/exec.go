package client

import (
	"fmt"
	"strconv"
	"strings"

	"hermes.example/hermes/sandbox"
)

// Exec is a command to run. Exactly one of Line and Argv is set.
type Exec struct {
	Line    string            `json:"line,omitempty" jsonschema:"given to the sandbox's shell"`
	Argv    []string          `json:"argv,omitempty" jsonschema:"a program and its arguments, instead of a line"`
	Session string            `json:"session,omitempty" jsonschema:"the shell session whose directory, variables, functions and aliases it has, and changes; none if empty"`
	Env     map[string]string `json:"env,omitempty" jsonschema:"variables of this command alone"`
	Cwd     string            `json:"cwd,omitempty" jsonschema:"where it runs; must exist"`
	Stdin   string            `json:"stdin,omitempty" jsonschema:"its whole standard input, as text"`
	// StdinBase64 is Stdin for input that is no text.
	StdinBase64 []byte  `json:"stdin_base64,omitempty" jsonschema:"its whole standard input, as base64; instead of stdin"`
	Merge       bool    `json:"merge,omitempty" jsonschema:"the error output goes to the output, in order"`
	Timeout     float64 `json:"timeout,omitempty" jsonschema:"seconds after which it is ended with its whole tree; none if zero"`
	Grace       float64 `json:"grace,omitempty" jsonschema:"seconds between the request to end and the kill"`
	// Window bounds how much of each stream an answer in one piece has.
	Window int64 `json:"window,omitempty" jsonschema:"bytes of each stream that an answer in one piece has at the most: the first and the last half; 1 MiB if zero"`
}

// ExecOutput is a command in one piece: one that has ended, or one that is looked at while it runs.
type ExecOutput struct {
	ID string `json:"id" jsonschema:"what the command is called; it can be followed and interrupted by it"`
	// Result is absent while it runs.
	Result *sandbox.Result `json:"result,omitempty" jsonschema:"how it ended; absent while it runs"`
	Stdout Output          `json:"stdout"`
	Stderr Output          `json:"stderr"`
}

// Output is a stream of a command, or the part of it that fits. Text and Base64 exclude each other: what is no text
// comes as base64.
type Output struct {
	Text   string `json:"text,omitempty"`
	Base64 []byte `json:"base64,omitempty" jsonschema:"instead of text, where it is none"`
	Bytes  int64  `json:"bytes" jsonschema:"how many the command has written"`
	// Omitted are bytes that are missing, at OmittedAt.
	Omitted   int64 `json:"omitted,omitempty" jsonschema:"how many bytes in the middle are left out"`
	OmittedAt int64 `json:"omitted_at,omitempty" jsonschema:"where they are missing"`
}

// Data is what the stream holds, whether it is text or not.
func (o Output) Data() []byte {
	if o.Base64 != nil {
		return o.Base64
	}
	return []byte(o.Text)
}

// IdempotencyKey is the header that names a command: the same name never runs twice in a sandbox.
const IdempotencyKey = "Idempotency-Key"

// Position is how much a caller has of the output of a command: the id of an event, and what Last-Event-ID gives back.
type Position struct {
	Stdout int64 `json:"stdout"`
	Stderr int64 `json:"stderr"`
}

// String is "OUT-ERR".
func (p Position) String() string {
	return strconv.FormatInt(p.Stdout, 10) + "-" + strconv.FormatInt(p.Stderr, 10)
}

// ParsePosition reads what String wrote.
func ParsePosition(s string) (Position, error) {
	stdout, stderr, both := strings.Cut(s, "-")
	out, err1 := strconv.ParseInt(stdout, 10, 64)
	errs, err2 := strconv.ParseInt(stderr, 10, 64)
	if p := (Position{out, errs}); both && err1 == nil && err2 == nil && out >= 0 && errs >= 0 && p.String() == s {
		return p, nil
	}
	return Position{}, fmt.Errorf("%q is no position: it is two offsets, as in 4096-0", s)
}

// Stream is which of its two outputs a command writes to.
type Stream string

// The streams.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// Events of a command that is followed.
const (
	EventStarted  = "started"
	EventOutput   = "output"
	EventGap      = "gap"
	EventExit     = "exit"
	EventProblem  = "problem"
	EventDraining = "draining"
)

// ExecStarted is the first event: the command's id, by which it can be followed and interrupted.
type ExecStarted struct {
	ID string `json:"id"`
}

// ExecChunk is output, of an event named output.
type ExecChunk struct {
	Stream Stream `json:"stream" jsonschema:"stdout or stderr"`
	Offset int64  `json:"offset" jsonschema:"how many bytes of this stream came before"`
	Text   string `json:"text,omitempty"`
	Base64 []byte `json:"base64,omitempty" jsonschema:"instead of text, where it is none"`
}

// Data is the output, whether it is text or not.
func (c ExecChunk) Data() []byte {
	if c.Base64 != nil {
		return c.Base64
	}
	return []byte(c.Text)
}

// ExecGap stands where output is no longer kept.
type ExecGap struct {
	Stream Stream `json:"stream"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
}

// Interrupted is the answer to an interrupt.
type Interrupted struct {
	ID string `json:"id"`
}

// Draining is the last event of a gateway that ends. What runs under a key goes on, and is followed by its id when
// there is a gateway again.
type Draining struct {
	Detail string `json:"detail"`
}
