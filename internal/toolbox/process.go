package toolbox

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hermes.example/hermes/sandbox"
)

// ProcessInput asks for something about background processes.
type ProcessInput struct {
	Action    string `json:"action" jsonschema:"start, list, poll, log, wait, kill or write"`
	ProcessID string `json:"process_id,omitempty" jsonschema:"the process, for all actions but start and list"`
	// For start.
	Command          string   `json:"command,omitempty" jsonschema:"start: the shell command"`
	Workdir          string   `json:"workdir,omitempty" jsonschema:"start: directory to run it in"`
	Name             string   `json:"name,omitempty" jsonschema:"start: what to call it"`
	Input            bool     `json:"input,omitempty" jsonschema:"start: give it a standard input for the action write"`
	NotifyOnComplete bool     `json:"notify_on_complete,omitempty" jsonschema:"start: a later answer tells when it has ended"`
	WatchPatterns    []string `json:"watch_patterns,omitempty" jsonschema:"start: regular expressions (RE2); a later answer tells lines of output that match. Not together with notify_on_complete"`
	// For log.
	Offset *int64 `json:"offset,omitempty" jsonschema:"log: byte of the output to begin with; below zero so many before the end"`
	Lines  int    `json:"lines,omitempty" jsonschema:"log: so many lines before the end"`
	// For start and wait.
	Timeout *int `json:"timeout,omitempty" jsonschema:"start: seconds until it is ended, otherwise it runs until it ends. wait: seconds to wait at most"`
	// For write.
	Data       string `json:"data,omitempty" jsonschema:"write: what to write to its standard input"`
	Newline    bool   `json:"newline,omitempty" jsonschema:"write: a newline after it"`
	CloseStdin bool   `json:"close_stdin,omitempty" jsonschema:"write: end its standard input after it"`
}

// ProcessOutput is the answer.
type ProcessOutput struct {
	Process   *ProcessState  `json:"process,omitempty" jsonschema:"the process as it is now"`
	Processes []ProcessState `json:"processes,omitempty" jsonschema:"list: all that are known"`
	Output    string         `json:"output,omitempty" jsonschema:"log, poll, wait and kill: the part of its output"`
	Offset    int64          `json:"offset,omitempty" jsonschema:"the byte that output begins with"`
	Next      int64          `json:"next_offset,omitempty" jsonschema:"where to go on reading"`
	Written   int            `json:"written,omitempty" jsonschema:"write: how many bytes were taken"`
	Notes     []string       `json:"notes,omitempty" jsonschema:"what else there is to know"`
	Recreated bool           `json:"environment_recreated,omitempty" jsonschema:"the sandbox had ended and was made anew"`
	Notices   []Notice       `json:"notices,omitempty" jsonschema:"what happened to background processes meanwhile"`
}

// ProcessState is what is known of a process.
type ProcessState struct {
	ID       string    `json:"process_id"`
	Name     string    `json:"name,omitempty"`
	Command  string    `json:"command"`
	Cwd      string    `json:"cwd,omitempty"`
	State    string    `json:"state" jsonschema:"running, exited or lost"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended,omitzero"`
	ExitCode *int      `json:"exit_code,omitempty" jsonschema:"once it has ended; -1 if it is not known"`
	Reason   string    `json:"reason,omitempty" jsonschema:"why it ended, if not by itself"`
	Output   int64     `json:"output_bytes" jsonschema:"how much it has printed"`
}

// Process does what the action says.
func (t *Toolbox) Process(ctx context.Context, in ProcessInput) (ProcessOutput, error) {
	out, err := t.process(ctx, in)
	if err == nil {
		out.Notices = t.Notices()
	}
	return out, err
}

func (t *Toolbox) process(ctx context.Context, in ProcessInput) (ProcessOutput, error) {
	actions := map[string]func(*inquiry) error{
		"poll": (*inquiry).poll, "log": (*inquiry).log, "wait": (*inquiry).wait, "kill": (*inquiry).kill, "write": (*inquiry).write,
	}
	act, known := actions[in.Action]
	switch {
	case in.Action == "start":
		return t.startProcess(ctx, in)
	case in.Action == "list":
		act = (*inquiry).list
	case !known:
		return ProcessOutput{}, refuse("cannot do %q with processes: the actions are start, list, poll, log, wait, kill and write", in.Action)
	case in.ProcessID == "":
		return ProcessOutput{}, refuse("cannot %s a process: give its process_id; the action list has them", in.Action)
	}
	_, secrets, err := t.environment()
	if err != nil {
		return ProcessOutput{}, err
	}
	var out ProcessOutput
	recreated, err := t.use(ctx, func(box *sandbox.Sandbox) error {
		out = ProcessOutput{}
		q := &inquiry{ctx: ctx, tools: t, box: box, in: in, out: &out, secrets: secrets}
		if in.Action != "list" {
			if err := q.find(); err != nil {
				return err
			}
		}
		return act(q)
	})
	if recreated {
		out.Recreated = true
		out.Notes = append(out.Notes, recreatedNote)
	}
	return out, refusal(err)
}

// refusal makes what the sandbox did not accept something that a model can act on.
func refusal(err error) error {
	if errors.Is(err, sandbox.ErrRefused) || errors.Is(err, sandbox.ErrNoProcess) {
		return &Refusal{oneLine(err)}
	}
	return err
}

// longestName is how long the name of a process may be.
const longestName = 64

func (t *Toolbox) startProcess(ctx context.Context, in ProcessInput) (ProcessOutput, error) {
	if err := checkCommand(in.Command, in.Workdir); err != nil {
		return ProcessOutput{}, err
	}
	if len(in.Name) > longestName || strings.HasPrefix(in.Name, "proc_") || strings.ContainsFunc(in.Name, unicode.IsControl) || !utf8.ValidString(in.Name) {
		return ProcessOutput{}, refuse("cannot start the process: the name %.80q cannot be used; it has at most %d bytes in one line and does not begin with proc_, as ids do", in.Name, longestName)
	}
	r := startRequest{command: in.Command, workdir: in.Workdir, name: in.Name, input: in.Input, notify: in.NotifyOnComplete, watch: in.WatchPatterns}
	if in.Timeout != nil {
		if *in.Timeout <= 0 {
			return ProcessOutput{}, refuse("cannot start the process: the timeout %d is not above 0; leave it out to let it run until it ends", *in.Timeout)
		}
		r.timeout = duration(*in.Timeout)
	}
	s, err := t.start(ctx, r)
	if err != nil {
		return ProcessOutput{}, err
	}
	return ProcessOutput{Process: &s.state, Notes: s.notes, Recreated: s.recreated}, nil
}
