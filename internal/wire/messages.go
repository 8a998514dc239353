package wire

import "time"

// Exec asks for a command. Exactly one of Argv and Line is set.
type Exec struct {
	// ID names this command for ever: the same id never runs twice.
	ID   string   `json:"id"`
	Argv []string `json:"argv,omitempty"`
	// Line is given to the sandbox's shell.
	Line string `json:"line,omitempty"`
	// Session names the shell state that the command starts from and, when it
	// is a Line, changes. Empty means the sandbox's plain environment.
	Session string            `json:"session,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	TTY     *Size             `json:"tty,omitempty"`
	// Stdin says that input frames will come; without it the command reads
	// end of file at once.
	Stdin bool `json:"stdin,omitempty"`
	// Merge sends the error output down the output stream, in order.
	Merge   bool          `json:"merge,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"`
	Grace   time.Duration `json:"grace,omitempty"`
	// KillWhenLost ends the command when its caller goes away.
	KillWhenLost bool `json:"kill_when_lost,omitempty"`
	// Window is how many bytes of output are kept for a caller that comes back.
	Window int64 `json:"window,omitempty"`
	// Asked names what was asked for under the ID; the same id with another name is
	// refused. Empty is not compared.
	Asked string `json:"asked,omitempty"`
}

// Attach follows the command ID from the given offsets on.
type Attach struct {
	ID     string `json:"id"`
	Stdout int64  `json:"stdout,omitempty"`
	Stderr int64  `json:"stderr,omitempty"`
}

// Started says that the command runs, or ran: Known means that its id was seen
// before and that nothing was started now.
type Started struct {
	PID   int  `json:"pid"`
	Known bool `json:"known,omitempty"`
}

// Gap stands where Bytes bytes of a stream are no longer kept.
type Gap struct {
	Stderr bool  `json:"stderr,omitempty"`
	Bytes  int64 `json:"bytes"`
}

// Reason says why a command ended.
type Reason string

// The reasons.
const (
	ReasonExit        Reason = "exit"
	ReasonSignal      Reason = "signal"
	ReasonTimeout     Reason = "timeout"
	ReasonInterrupted Reason = "interrupted"
	ReasonOutOfMemory Reason = "out of memory"
	ReasonLost        Reason = "lost"
	// ReasonKilled is a background process that was ended on request. Its code is
	// its own if it ended by itself then, or that of the signal.
	ReasonKilled Reason = "killed"
	// ReasonNotStarted is a command that could not be executed at all.
	ReasonNotStarted Reason = "not started"
)

// Exit is how a command ended.
type Exit struct {
	Code   int    `json:"code"`
	Reason Reason `json:"reason"`
	Signal int    `json:"signal,omitempty"`
	// Message is one line for a person, where the code alone does not tell.
	Message string `json:"message,omitempty"`
	// Cwd is the session's directory afterwards; CwdFallback is where the
	// command ran when the session's directory no longer existed.
	Cwd         string `json:"cwd,omitempty"`
	CwdFallback string `json:"cwd_fallback,omitempty"`
	// Survivors are processes of a killed command that would not die.
	Survivors []int `json:"survivors,omitempty"`
	// Stdout and Stderr are how many bytes belong to the command.
	Stdout   int64         `json:"stdout"`
	Stderr   int64         `json:"stderr"`
	Duration time.Duration `json:"duration"`
}

// Control acts on the command ID. It has a stream of its own, so that it gets
// through when the command does not read its input.
type Control struct {
	ID string `json:"id"`
	// Interrupt ends the command and its tree as a person's interrupt does.
	Interrupt bool `json:"interrupt,omitempty"`
	// Signal goes to the command's first process and its process group.
	Signal int   `json:"signal,omitempty"`
	Size   *Size `json:"size,omitempty"`
	// Kill ends the command and its tree: asked at first, and after the Grace
	// killed; without one killed at once.
	Kill  bool          `json:"kill,omitempty"`
	Grace time.Duration `json:"grace,omitempty"`
}

// Size is a terminal's.
type Size struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
	// Term is the terminal's kind, in the request that opens it.
	Term string `json:"term,omitempty"`
}

// Status is the lease: whether and since when the sandbox is in use.
type Status struct {
	Build       string        `json:"build"`
	PID         int           `json:"pid"`
	Connections int           `json:"connections"`
	Commands    int           `json:"commands"`
	Processes   int           `json:"processes"`
	Sessions    []string      `json:"sessions,omitempty"`
	Idle        time.Duration `json:"idle"`
	Shell       string        `json:"shell"`
	// Usage is absent where the guest is older.
	Usage *Usage `json:"usage,omitempty"`
}

// Usage is what commands have used since the guest started.
type Usage struct {
	// CPU is the time that the processors spent on what lives and on what has ended.
	CPU time.Duration `json:"cpu"`
	// Memory is what processes have of it now, in bytes. What several of them share counts for each.
	Memory int64 `json:"memory"`
	// Finished is how many commands have ended.
	Finished int64 `json:"finished"`
}

// Busy says whether anything but the asking connection uses the sandbox.
func (s Status) Busy() bool { return s.Connections > 0 || s.Commands > 0 || s.Processes > 0 }

// Retire asks the sandbox to end if nobody has used it for Idle, or Now, whoever
// uses it.
type Retire struct {
	Idle time.Duration `json:"idle"`
	Now  bool          `json:"now,omitempty"`
	// Held says that callers who run nothing do not count as users.
	Held bool `json:"held,omitempty"`
	// HandOver asks for the sessions: if the sandbox ends, each comes as a Handed
	// before the answer.
	HandOver bool `json:"hand_over,omitempty"`
}

// Session is what is known of a session's state.
type Session struct {
	Name      string   `json:"name"`
	Cwd       string   `json:"cwd"`
	Variables []string `json:"variables,omitempty"`
	Functions []string `json:"functions,omitempty"`
	Aliases   []string `json:"aliases,omitempty"`
	// Home is where "~" leads; an older guest does not say.
	Home string `json:"home,omitempty"`
	// Forget asks that the session be forgotten after it was told of; an older guest keeps it.
	Forget bool `json:"forget,omitempty"`
}

// Failure is a request that could not be served.
type Failure struct {
	Code    FailureCode `json:"code"`
	Message string      `json:"message"`
}

func (f *Failure) Error() string { return f.Message }

// FailureCode is what a caller can act on.
type FailureCode string

// The codes.
const (
	FailureBadRequest FailureCode = "bad request"
	FailureUnknownID  FailureCode = "unknown id"
	FailureRetiring   FailureCode = "retiring"
	// FailureReused is an id under which something else was asked for before.
	FailureReused   FailureCode = "id reused"
	FailureInternal FailureCode = "internal"
)
