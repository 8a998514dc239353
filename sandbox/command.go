package sandbox

import (
	"fmt"
	"io"
	"strings"
	"time"

	"hermes.example/hermes/internal/wire"
)

// Command is one thing to run. Exactly one of Argv and Line is set.
type Command struct {
	// Argv is a program and its arguments.
	Argv []string
	// Line is given to the sandbox's shell.
	Line string
	Env  map[string]string
	// Cwd is where it runs: absolute, relative to where it would run anyway, or
	// beginning with "~". It must exist.
	Cwd    string
	Stdin  io.Reader
	Stdout io.Writer
	// Stderr may be nil: then the error output goes to Stdout, in order.
	Stderr io.Writer
	// Terminal gives the command a terminal instead of pipes.
	Terminal *Terminal
	// Timeout ends the command and its whole tree; zero means none.
	Timeout time.Duration
	// Grace is how long the tree has between the request to end and the kill.
	Grace time.Duration
	// ID makes the command run at most once, however often it is asked for.
	// Empty means a new random one.
	ID string
	// Asked names what is asked for under the ID, in at most a few hundred bytes: the
	// same id with another name is refused with ErrIDReused. Empty is not compared.
	Asked string
	// Detached commands go on when their caller's process is gone.
	Detached bool
	// Leave makes the end of the context the end of waiting alone: a Detached command
	// goes on, and can be followed by its ID.
	Leave bool
	// Window is how much output is kept for a caller that comes back.
	Window int64
	// Started is called when the sandbox has the command, before any output; known
	// says that it had its ID before, and that nothing was started now. May be nil.
	Started func(known bool)
	// Gap is called in the place of output that is no longer kept; may be nil.
	Gap func(stderr bool, bytes int64)
}

// Terminal is the caller's end of a command's terminal.
type Terminal struct {
	Rows, Cols uint16
	// Term is its kind, as in TERM.
	Term string
	// Resized yields the new size whenever it changes; may be nil.
	Resized <-chan Size
}

// Size is a terminal's.
type Size struct{ Rows, Cols uint16 }

// Reason says why a command ended.
type Reason string

// The reasons.
const (
	Exited      = Reason(wire.ReasonExit)
	Signaled    = Reason(wire.ReasonSignal)
	TimedOut    = Reason(wire.ReasonTimeout)
	Interrupted = Reason(wire.ReasonInterrupted)
	OutOfMemory = Reason(wire.ReasonOutOfMemory)
	Lost        = Reason(wire.ReasonLost)
	NotStarted  = Reason(wire.ReasonNotStarted)
	// Killed is a background process that was ended by [Process.Kill].
	Killed = Reason(wire.ReasonKilled)
)

// Result is how a command ended.
type Result struct {
	ID string `json:"id"`
	// Code is the exit status: the command's own, 124 after a timeout, 130 when
	// interrupted, 126 or 127 when it could not be started, 128+n after signal n,
	// -1 when it is not known.
	Code   int    `json:"code"`
	Reason Reason `json:"reason"`
	Signal int    `json:"signal,omitempty"`
	// Message explains what the code does not.
	Message string `json:"message,omitempty"`
	// Cwd is the session's directory now.
	Cwd string `json:"cwd,omitempty"`
	// CwdFallback is where the command ran, if its directory no longer existed.
	CwdFallback string `json:"cwd_fallback,omitempty"`
	// Survivors are processes that could not be killed.
	Survivors []int `json:"survivors,omitempty"`
	// Missed is how many bytes of output were no longer kept for us.
	Missed int64 `json:"missed,omitempty"`
	// Recreated says that the sandbox had ended and was made anew for this.
	Recreated bool          `json:"recreated,omitempty"`
	Duration  time.Duration `json:"duration"`
}

// publicResult is what a guest's word means to a caller.
func publicResult(id string, e wire.Exit) Result {
	return Result{ID: id, Code: e.Code, Reason: Reason(e.Reason), Signal: e.Signal, Message: e.Message, Cwd: e.Cwd,
		CwdFallback: e.CwdFallback, Survivors: e.Survivors, Duration: e.Duration}
}

func (c Command) validate() error {
	if (len(c.Argv) == 0) == (c.Line == "") {
		return fmt.Errorf("cannot run a command: give either a line or a program with arguments")
	}
	if len(c.Argv) > 0 && c.Argv[0] == "" {
		return fmt.Errorf("cannot run a command: the program's name is empty")
	}
	for _, a := range append([]string{c.Line, c.Cwd}, c.Argv...) {
		if strings.ContainsRune(a, 0) {
			return fmt.Errorf("cannot run a command: it contains a NUL byte")
		}
	}
	for name, value := range c.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return fmt.Errorf("cannot run a command: %q is not a usable variable", name)
		}
	}
	if c.Timeout < 0 {
		return fmt.Errorf("cannot run a command: the timeout %s is negative", c.Timeout)
	}
	return nil
}
