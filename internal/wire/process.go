package wire

import "time"

// The frames of background processes.
const (
	TypeStart     Type = 60 // start one: Start, answered with its Process
	TypeProcess   Type = 61 // what is known of one: Process
	TypeProcesses Type = 62 // asks for all of them, and answers with Processes
	TypeLog       Type = 63 // read a log: Log, answered with Log, output and gaps, and at last a Process
	TypeInput     Type = 64 // write to one: Input, answered with Taken
	TypeTaken     Type = 65 // what became of the input: Taken
	TypeWait      Type = 66 // wait for one to end: Wait, answered with its Process
	TypeEvents    Type = 67 // what happened: Events, answered with Event after Event, and OK when that was all
	TypeEvent     Type = 68 // one of them: Event
)

// CanProcesses says that the guest knows the frames above, and Control.Kill.
const CanProcesses = "processes"

// Start asks for a background process: a command that belongs to no caller, whose
// output goes to a log on disk. The same id is started once and then answered
// with what became of it.
type Start struct {
	Exec Exec `json:"exec"`
	// Name is what people call it. Of those that run, one has it.
	Name string `json:"name,omitempty"`
	// Watch holds regular expressions; a line of output that one of them
	// matches is an event.
	Watch []string `json:"watch,omitempty"`
	// Notify makes its end an event, and excludes Watch.
	Notify bool `json:"notify,omitempty"`
}

// ProcessState says whether a background process runs.
type ProcessState string

// The states.
const (
	ProcessRunning ProcessState = "running"
	ProcessExited  ProcessState = "exited"
	// ProcessLost is one that ran when its guest ended. How it would have ended
	// nobody knows.
	ProcessLost ProcessState = "lost"
)

// Process is what is known of a background process. It is also what is kept of
// it on disk. Bytes of the command that are no text are shown as such.
type Process struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Argv and Line are what was asked for, cut if it is very long.
	Argv    []string     `json:"argv,omitempty"`
	Line    string       `json:"line,omitempty"`
	Session string       `json:"session,omitempty"`
	Cwd     string       `json:"cwd,omitempty"`
	PID     int          `json:"pid,omitempty"`
	State   ProcessState `json:"state"`
	Started time.Time    `json:"started"`
	// Ended and Exit are set when it runs no longer.
	Ended time.Time `json:"ended,omitzero"`
	Exit  *Exit     `json:"exit,omitempty"`
	// LogStart is the offset of the first byte that the log still has, LogEnd
	// of the one after its last.
	LogStart int64    `json:"log_start"`
	LogEnd   int64    `json:"log_end"`
	Input    bool     `json:"input,omitempty"`
	Watch    []string `json:"watch,omitempty"`
	Notify   bool     `json:"notify,omitempty"`
	// Remark says what of the request was not done.
	Remark string `json:"remark,omitempty"`
}

// Processes are all that are kept, in the order of their start.
type Processes struct {
	Processes []Process `json:"processes"`
}

// Log asks for the log of a process. The answer begins with one whose Offset is
// that of the first byte that follows.
type Log struct {
	ID string `json:"id"`
	// Offset is where to begin; below zero it counts from the end.
	Offset int64 `json:"offset"`
	// Lines, if it is above zero, begins that many lines before the end instead.
	Lines int `json:"lines,omitempty"`
	// Follow goes on until the process has ended.
	Follow bool `json:"follow,omitempty"`
}

// Input is for the standard input of a process that was started with one.
type Input struct {
	ID   string `json:"id"`
	Data []byte `json:"data,omitempty"`
	// Close ends the input after the data.
	Close bool `json:"close,omitempty"`
}

// Taken says how many bytes of an Input the process's pipe took. It is fewer than
// were sent when the process does not read; then nothing was closed.
type Taken struct {
	Bytes int `json:"bytes"`
}

// Wait asks for a process when it has ended, or Now.
type Wait struct {
	ID  string `json:"id"`
	Now bool   `json:"now,omitempty"`
}

// Events asks for what happened after the event of the number Since; with Follow
// also for what happens from now on.
type Events struct {
	Since  uint64 `json:"since"`
	Follow bool   `json:"follow,omitempty"`
}

// EventKind says what happened.
type EventKind string

// The kinds.
const (
	// EventMatch is a line of output that a watch pattern matches.
	EventMatch EventKind = "match"
	// EventExit is the end of a process that was to notify of it.
	EventExit EventKind = "exit"
	// EventUnwatched is a process whose patterns match too much: no more of its
	// lines are told.
	EventUnwatched EventKind = "unwatched"
	// EventPaused means that so much was told of all processes that for some
	// time no line will be.
	EventPaused EventKind = "paused"
	// EventGap stands where events are no longer kept. It has the number of the
	// last of them.
	EventGap EventKind = "gap"
)

// Event is something that happened to a background process. Numbers grow by one,
// also from one run of the sandbox to the next.
type Event struct {
	Number  uint64    `json:"number"`
	Time    time.Time `json:"time"`
	Kind    EventKind `json:"kind"`
	Process string    `json:"process,omitempty"`
	Name    string    `json:"name,omitempty"`
	// Pattern and Line are of a match. Held is how many matches before it were
	// not told.
	Pattern string `json:"pattern,omitempty"`
	Line    string `json:"line,omitempty"`
	Held    int    `json:"held,omitempty"`
	// State and Exit are of an end.
	State ProcessState `json:"state,omitempty"`
	Exit  *Exit        `json:"exit,omitempty"`
	// Missed is how many events a gap stands for.
	Missed  uint64 `json:"missed,omitempty"`
	Message string `json:"message,omitempty"`
}
