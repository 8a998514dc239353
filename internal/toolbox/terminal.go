package toolbox

import (
	"context"
	"errors"
	"time"
)

// TerminalInput is a command for the terminal.
type TerminalInput struct {
	Command string `json:"command" jsonschema:"the shell command; directory, exported variables, functions and aliases last from one call to the next"`
	// Timeout is a pointer because nothing and zero are not the same.
	Timeout          *int     `json:"timeout,omitempty" jsonschema:"seconds until the command is ended; above the foreground limit it runs as a background process instead"`
	Workdir          string   `json:"workdir,omitempty" jsonschema:"directory to run this one command in, instead of where the last one ended"`
	Stdin            string   `json:"stdin,omitempty" jsonschema:"standard input of the command; without it there is none"`
	Background       bool     `json:"background,omitempty" jsonschema:"start it as a background process, for servers and long work; the answer has its process_id for the process tool"`
	NotifyOnComplete bool     `json:"notify_on_complete,omitempty" jsonschema:"with background: a later answer tells when it has ended"`
	WatchPatterns    []string `json:"watch_patterns,omitempty" jsonschema:"with background: regular expressions (RE2); a later answer tells lines of output that match. Not together with notify_on_complete"`
}

// TerminalOutput is what became of a command.
type TerminalOutput struct {
	Output   string   `json:"output" jsonschema:"what it printed, error output among it; the middle is left out if it is long"`
	ExitCode int      `json:"exit_code" jsonschema:"its exit status: 124 after a timeout, 130 if interrupted, 126 or 127 if it could not be started, -1 if it is not known"`
	Reason   string   `json:"reason,omitempty" jsonschema:"why it ended, if not by itself: signal, timeout, interrupted, out-of-memory, lost, not-started, unavailable"`
	Cwd      string   `json:"cwd,omitempty" jsonschema:"the session's directory now"`
	Notes    []string `json:"notes,omitempty" jsonschema:"what the exit status and the output do not say"`
	TimedOut bool     `json:"timed_out,omitempty"`
	// Total and FullOutput are set if Output is not all of it.
	Total      int64  `json:"output_total_chars,omitempty" jsonschema:"characters of the whole output, if it was cut"`
	FullOutput string `json:"full_output_path,omitempty" jsonschema:"file with the whole output, for read_file"`
	ProcessID  string `json:"process_id,omitempty" jsonschema:"the background process that runs it"`
	// Promoted says that it was meant to be waited for.
	Promoted  bool     `json:"promoted,omitempty" jsonschema:"it asked for more than the foreground limit and runs in the background"`
	Recreated bool     `json:"environment_recreated,omitempty" jsonschema:"the sandbox had ended and was made anew: processes and what was not kept in files are gone"`
	Notices   []Notice `json:"notices,omitempty" jsonschema:"what happened to background processes meanwhile"`
}

// Progress is what is known of a command that runs.
type Progress struct {
	Elapsed time.Duration
	Bytes   int64
	// Line is the last whole line of output, cut if it is long.
	Line string
}

// Terminal runs a command and waits for it, or starts it in the background. When ctx is cancelled the command is ended
// with everything that it started. Progress, which may be nil, is called every few seconds.
func (t *Toolbox) Terminal(ctx context.Context, in TerminalInput, progress func(Progress)) (TerminalOutput, error) {
	return TerminalOutput{}, errors.New("cannot run a command: not built yet")
}
