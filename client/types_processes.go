package client

import "hermes.example/hermes/sandbox"

// ProcessRequest is a command that is to run in the background. Exactly one of Argv and Line is set.
type ProcessRequest struct {
	Argv    []string          `json:"argv,omitempty" jsonschema:"a program and its arguments"`
	Line    string            `json:"line,omitempty" jsonschema:"a line for the sandbox's shell"`
	Session string            `json:"session,omitempty" jsonschema:"the session whose directory and variables it begins with"`
	Env     map[string]string `json:"env,omitempty" jsonschema:"variables that it gets beside those of the sandbox"`
	Cwd     string            `json:"cwd,omitempty" jsonschema:"the directory that it runs in"`
	Timeout float64           `json:"timeout,omitempty" jsonschema:"after so many seconds it is ended with its whole tree; never if it is zero"`
	Window  int64             `json:"window,omitempty" jsonschema:"how many bytes of its log are kept"`
	Name    string            `json:"name,omitempty" jsonschema:"what people call it; of the processes that run, one has it"`
	Input   bool              `json:"input,omitempty" jsonschema:"give it a standard input that can be written to"`
	Watch   []string          `json:"watch,omitempty" jsonschema:"regular expressions (RE2); a line of output that one matches becomes an event"`
	Notify  bool              `json:"notify,omitempty" jsonschema:"make its end an event"`
}

// ProcessAnswer is a process, and whether its sandbox was made anew for it.
type ProcessAnswer struct {
	Process   sandbox.ProcessInfo `json:"process"`
	Recreated bool                `json:"recreated,omitempty" jsonschema:"the sandbox had ended and was made anew to start it"`
}

// ProcessList is the background processes that are kept, in the order of their start.
type ProcessList struct {
	Processes []sandbox.ProcessInfo `json:"processes"`
}

// LogAnswer is a part of a process's log.
type LogAnswer struct {
	Data
	sandbox.LogPart
}

// The events of a log that is followed.
const (
	// EventLog has a [LogPiece]; its id is the offset after it.
	EventLog = "log"
	// EventEnd has the [sandbox.LogPart] of all that was read, and is the last.
	EventEnd = "end"
)

// LogPiece is some of a process's log.
type LogPiece struct {
	Data
	Offset int64 `json:"offset" jsonschema:"where in the log the first of these bytes is"`
	Missed int64 `json:"missed,omitempty" jsonschema:"how many bytes before these were no longer kept"`
}

// SignalRequest is a signal for a process and its process group.
type SignalRequest struct {
	Signal int `json:"signal" jsonschema:"its number, as Linux has it"`
}

// WaitAnswer is a process after somebody has waited for it.
type WaitAnswer struct {
	Ended   bool                `json:"ended" jsonschema:"false if it still runs: ask again"`
	Process sandbox.ProcessInfo `json:"process"`
}

// EventHappened has a [sandbox.Event]; its id is its number.
const EventHappened = "event"

// EventList is what happened to background processes.
type EventList struct {
	Events []sandbox.Event `json:"events"`
}
