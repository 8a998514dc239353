package toolbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hermes.example/hermes/internal/toolbox/guard"
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
	Reason   string   `json:"reason,omitempty" jsonschema:"why it ended, if not by itself: signal, timeout, interrupted, out of memory, lost, not started, unavailable"`
	Cwd      string   `json:"cwd,omitempty" jsonschema:"the session's directory now"`
	Notes    []string `json:"notes,omitempty" jsonschema:"what the exit status and the output do not say"`
	TimedOut bool     `json:"timed_out,omitempty"`
	// Total and FullOutput are set if Output is not all of it.
	Total      int64  `json:"output_total_chars,omitempty" jsonschema:"characters of the whole output, if it was cut"`
	FullOutput string `json:"full_output_path,omitempty" jsonschema:"file with the whole output, for read_file"`
	ProcessID  string `json:"process_id,omitempty" jsonschema:"the background process that runs it"`
	// Promoted says that it was meant to be waited for.
	Promoted bool `json:"promoted,omitempty" jsonschema:"it asked for more than the foreground limit and runs in the background"`
	// Degraded says that no sandbox could be had and nothing was run.
	Degraded  bool     `json:"degraded,omitempty" jsonschema:"the sandbox could not be reached and nothing was run; try again"`
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
// with everything that it started. Progress, which may be nil, is called every few seconds while it runs.
func (t *Toolbox) Terminal(ctx context.Context, in TerminalInput, progress func(Progress)) (TerminalOutput, error) {
	out, err := t.terminal(ctx, in, progress)
	if err == nil {
		out.Notices = t.Notices()
	}
	return out, err
}

func (t *Toolbox) terminal(ctx context.Context, in TerminalInput, progress func(Progress)) (TerminalOutput, error) {
	if err := checkCommand(in.Command, in.Workdir); err != nil {
		return TerminalOutput{}, err
	}
	timeout := t.settings.Timeout
	if in.Timeout != nil {
		if *in.Timeout <= 0 {
			return TerminalOutput{}, refuse("cannot run the command: the timeout %d is not above 0; leave it out for %s, or give a number of seconds", *in.Timeout, seconds(timeout))
		}
		timeout = duration(*in.Timeout)
	}
	if in.Background {
		return t.background(ctx, in, 0, false)
	}
	if in.NotifyOnComplete || len(in.WatchPatterns) > 0 {
		return TerminalOutput{}, refuse("cannot run the command: notify_on_complete and watch_patterns are for background=true; in the foreground the answer comes when it has ended")
	}
	if why := guard.Foreground(in.Command); why != "" {
		return TerminalOutput{}, refuse("cannot run the command in the foreground: %s", why)
	}
	if timeout > t.settings.MaxForeground {
		if !t.settings.Promote {
			return TerminalOutput{}, refuse("cannot wait for the command for %s: the limit is %s; use background=true and the process tool, or a shorter timeout", seconds(timeout), seconds(t.settings.MaxForeground))
		}
		return t.background(ctx, in, timeout, true)
	}
	return t.foreground(ctx, in, timeout, progress)
}

// background starts the command as a process. One that was promoted keeps its timeout, and its end is told.
func (t *Toolbox) background(ctx context.Context, in TerminalInput, timeout time.Duration, promoted bool) (TerminalOutput, error) {
	if in.Timeout != nil {
		timeout = duration(*in.Timeout)
	}
	if in.Stdin != "" {
		return TerminalOutput{}, refuse("cannot start the command in the background: it has no stdin there; start it with the process tool and input=true, and write to it")
	}
	started, err := t.start(ctx, startRequest{command: in.Command, workdir: in.Workdir, timeout: timeout,
		notify: in.NotifyOnComplete || promoted, watch: in.WatchPatterns})
	if unavailable := new(Unavailable); errors.As(err, &unavailable) && t.settings.Degraded {
		return degraded(unavailable), nil
	}
	if err != nil {
		return TerminalOutput{}, err
	}
	out := TerminalOutput{ProcessID: started.state.ID, Cwd: started.state.Cwd, Promoted: promoted, Recreated: started.recreated, Notes: started.notes}
	out.Output = "Started in the background as " + out.ProcessID + ". Use the process tool to poll, wait, read its log or kill it."
	if promoted {
		out.Output = fmt.Sprintf("The timeout of %s is above the foreground limit of %s, so the command was started in the background as %s and ends after %s at the latest. You are told when it has ended; the process tool waits for it and has its log.",
			seconds(timeout), seconds(t.settings.MaxForeground), out.ProcessID, seconds(timeout))
	}
	return out, nil
}

// workdirChars are what the path of a directory may be made of, beside letters and digits.
const workdirChars = `/\:_-.~ +@=,`

// longestCommand is less than the sandbox's protocol carries.
const longestCommand = 512 << 10

func checkCommand(command, workdir string) error {
	if strings.TrimSpace(command) == "" {
		return refuse("cannot run the command: it is empty")
	}
	if len(command) > longestCommand {
		return refuse("cannot run the command: it has %d bytes, and %d are possible; write it to a file with write_file and run that", len(command), longestCommand)
	}
	if strings.ContainsRune(command, 0) || !utf8.ValidString(command) {
		return refuse("cannot run the command: it contains a NUL byte or is no UTF-8 text")
	}
	bad := strings.IndexFunc(workdir, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(workdirChars, r)
	})
	if bad >= 0 || !utf8.ValidString(workdir) {
		r, _ := utf8.DecodeRuneInString(workdir[max(bad, 0):])
		return refuse("cannot run the command: the workdir contains %q; letters, digits and %s are allowed, so use cd with quotes in the command instead", r, strings.ReplaceAll(workdirChars, " ", "space "))
	}
	return nil
}

// longestTimeout is more than anybody waits for, and far less than a Duration holds.
const longestTimeout = 366 * 24 * time.Hour

// duration is a number of seconds that somebody gave, who may have given any.
func duration(seconds int) time.Duration {
	return time.Duration(min(int64(seconds), int64(longestTimeout/time.Second))) * time.Second
}

func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
}
