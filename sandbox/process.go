package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"hermes.example/hermes/internal/wire"
)

// Background is a command that is to run in the background.
type Background struct {
	// Command says what runs, with exactly the environment that it would have in
	// the foreground. It has no Stdin, Stdout, Stderr or Terminal: output and
	// error output go to a log, in order. Its Window is how much of the log is
	// kept, 16 MiB unless given. Its ID, if it has one, is "proc_" and twelve
	// hexadecimal digits. Without a Timeout it runs until it ends or is killed.
	Command
	// Name is what people call it. Of the processes that run, one has it.
	Name string
	// Input gives it a standard input that [Process.Write] writes to, until it is
	// closed. Without it the process reads the end of its input at once.
	Input bool
	// Watch holds regular expressions (RE2). A line of output that one of them
	// matches becomes an [Event], within limits: at most every 15 s, at most 8
	// times, and no more at all after three times 15 s in a row with more.
	Watch []string
	// Notify makes the process's end an [Event]. It excludes Watch, which is then
	// left out, and the answer says so.
	Notify bool
}

// Process is a background process of a sandbox: a command that belongs to no
// caller.
//
// Its life: Start makes it, and returns as soon as it runs or could not be
// started. From then on any caller of the sandbox finds it, by its id, until it
// has ended and was forgotten: a day later, or earlier for want of room. As long
// as it runs the sandbox is in use. It ends when its first process does, by
// itself or by Kill, which ends everything that it started, or with the sandbox;
// then the next run of the sandbox knows it as lost, and still has its log.
type Process struct {
	// ID names it for ever.
	ID string
	// Started is what was known of it when it started. It is empty for one that
	// was found by its id.
	Started ProcessInfo
	// Recreated says that the sandbox had ended and was made anew to start it.
	Recreated bool
	box       *Sandbox
}

// ProcessState says whether a background process runs.
type ProcessState string

// The states.
const (
	ProcessRunning = ProcessState(wire.ProcessRunning)
	ProcessExited  = ProcessState(wire.ProcessExited)
	// ProcessLost is one that ran when its sandbox ended.
	ProcessLost = ProcessState(wire.ProcessLost)
)

// ProcessInfo is what is known of a background process.
type ProcessInfo struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Argv or Line is what was asked for, cut if it is very long.
	Argv    []string     `json:"argv,omitempty"`
	Line    string       `json:"line,omitempty"`
	Session string       `json:"session,omitempty"`
	Cwd     string       `json:"cwd,omitempty"`
	PID     int          `json:"pid,omitempty"` // inside
	State   ProcessState `json:"state"`
	Started time.Time    `json:"started"`
	Ended   time.Time    `json:"ended,omitzero"`
	// Result is how it ended, if it has.
	Result *Result `json:"result,omitempty"`
	// LogStart is the offset of the first byte that the log still has, LogEnd of
	// the one after its last.
	LogStart int64    `json:"log_start"`
	LogEnd   int64    `json:"log_end"`
	Input    bool     `json:"input,omitempty"`
	Watch    []string `json:"watch,omitempty"`
	Notify   bool     `json:"notify,omitempty"`
	// Remark says what of the request was not done.
	Remark string `json:"remark,omitempty"`
}

// ErrNoProcess means that a sandbox knows no background process of an id.
var ErrNoProcess = errors.New("no such process")

// processError is what the guest said about a background process.
type processError struct{ failure *wire.Failure }

func (e *processError) Error() string { return e.failure.Message }

func (e *processError) Is(target error) bool {
	switch e.failure.Code {
	case wire.FailureUnknownID:
		return target == ErrNoProcess
	case wire.FailureBadRequest, wire.FailureRefused:
		return target == ErrRefused
	case wire.FailureReused:
		return target == ErrIDReused
	}
	return false
}

// refusal is a request that was refused before the guest was asked.
type refusal struct{ error }

func (*refusal) Is(target error) bool { return target == ErrRefused }

func processFailure(err error) error {
	var failure *wire.Failure
	if errors.As(err, &failure) {
		return &processError{failure}
	}
	return err
}

// NotStartedError is a background process that could not be started.
type NotStartedError struct{ Result Result }

func (e *NotStartedError) Error() string { return e.Result.Message }

// Start starts a background process. It is started at most once, however often
// the same ID is asked for; a process that could not be started is a
// *NotStartedError.
func (s *Sandbox) Start(ctx context.Context, b Background) (*Process, error) {
	return s.start(ctx, b, "")
}

// Start starts a background process with the session's environment and directory.
// It does not change them, whenever it ends.
func (s *Session) Start(ctx context.Context, b Background) (*Process, error) {
	return s.box.start(ctx, b, s.name)
}

func (s *Sandbox) start(ctx context.Context, b Background, session string) (*Process, error) {
	if err := b.validate(); err != nil {
		return nil, &refusal{err}
	}
	if b.ID == "" {
		b.ID = newProcessID()
	}
	p := &Process{ID: b.ID, box: s}
	start := wire.Start{Name: b.Name, Watch: b.Watch, Notify: b.Notify, Exec: wire.Exec{
		ID: b.ID, Argv: b.Argv, Line: b.Line, Session: session, Env: b.Env, Cwd: b.Cwd, Stdin: b.Input, Merge: true,
		Timeout: b.Timeout, Grace: b.Grace, Window: b.Window, Asked: b.Asked,
	}}
	var answer wire.Process
	err := dialogue{box: s, what: "start the process", kind: wire.TypeStart, recreated: &p.Recreated, request: func() any { return start },
		answer: func(f wire.Frame) (bool, error) { return true, f.Decode(&answer) }}.run(ctx)
	if err != nil {
		return nil, err
	}
	p.Started = publicProcess(answer)
	if r := p.Started.Result; r != nil && r.Reason == NotStarted {
		return nil, &NotStartedError{*r}
	}
	return p, nil
}

func (b Background) validate() error {
	if err := b.Command.validate(); err != nil {
		return err
	}
	if b.Stdin != nil || b.Stdout != nil || b.Stderr != nil || b.Terminal != nil {
		return errors.New("cannot start a process: one in the background has neither a caller's streams nor a terminal")
	}
	if strings.ContainsFunc(b.Name, func(r rune) bool { return r < ' ' || r == 0x7f }) || strings.HasPrefix(b.Name, processPrefix) {
		return fmt.Errorf("cannot start a process: %q is not a usable name", b.Name)
	}
	return nil
}

const processPrefix = "proc_"

func newProcessID() string {
	var b [6]byte
	rand.Read(b[:])
	return processPrefix + hex.EncodeToString(b[:])
}

// Processes lists the background processes that are kept, in the order of their
// start.
func (s *Sandbox) Processes(ctx context.Context) ([]ProcessInfo, error) {
	all := []ProcessInfo{}
	err := dialogue{box: s, what: "list the processes", kind: wire.TypeProcesses, request: func() any { return struct{}{} },
		answer: func(f wire.Frame) (bool, error) {
			var answer wire.Processes
			err := f.Decode(&answer)
			for _, p := range answer.Processes {
				all = append(all, publicProcess(p))
			}
			return true, err
		}}.run(ctx)
	return all, err
}

// Process returns the process of an id, which the sandbox need not have.
func (s *Sandbox) Process(id string) *Process { return &Process{ID: id, box: s} }

// Poll tells what is known of the process now.
func (p *Process) Poll(ctx context.Context) (ProcessInfo, error) {
	return p.ask(ctx, "look at the process", wire.Wait{ID: p.ID, Now: true})
}

// Wait waits for the process to end. If it is the sandbox that ends, the process
// is lost.
func (p *Process) Wait(ctx context.Context) (Result, error) {
	info, err := p.ask(ctx, "wait for the process", wire.Wait{ID: p.ID})
	if errors.Is(err, ErrGone) || errors.Is(err, ErrNotFound) {
		return Result{ID: p.ID, Code: -1, Reason: Lost, Message: "the sandbox ended while the process ran"}, nil
	}
	if err != nil {
		return Result{ID: p.ID}, err
	}
	return *info.Result, nil
}

func (p *Process) ask(ctx context.Context, what string, w wire.Wait) (ProcessInfo, error) {
	var answer wire.Process
	err := dialogue{box: p.box, what: what, kind: wire.TypeWait, request: func() any { return w },
		answer: func(f wire.Frame) (bool, error) { return true, f.Decode(&answer) }}.run(ctx)
	return publicProcess(answer), err
}

// Kill ends the process and everything that it has started, however that tried to
// get away: all are asked to end, and killed if they have not after the grace. It
// returns when they are gone; those that are not are in the result.
func (p *Process) Kill(ctx context.Context, grace time.Duration) (Result, error) {
	if err := p.control(ctx, "end the process", wire.Control{ID: p.ID, Kill: true, Grace: grace}); err != nil {
		return Result{ID: p.ID}, err
	}
	return p.Wait(ctx)
}

// Signal sends a signal to the process and its process group. Its number is the
// one that Linux has for it.
func (p *Process) Signal(ctx context.Context, number int) error {
	return p.control(ctx, "signal the process", wire.Control{ID: p.ID, Signal: number})
}

func (p *Process) control(ctx context.Context, what string, c wire.Control) error {
	return dialogue{box: p.box, what: what, kind: wire.TypeControl, request: func() any { return c },
		answer: func(wire.Frame) (bool, error) { return true, nil }}.run(ctx)
}

// Write writes to the process's standard input, and waits until it was taken. An
// error may leave open how much of it was.
func (p *Process) Write(ctx context.Context, data []byte) (int, error) {
	written := 0
	for written < len(data) {
		n, err := p.input(ctx, wire.Input{ID: p.ID, Data: data[written:min(len(data), written+maxInput)]})
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// maxInput is how much input is sent at a time.
const maxInput = 256 << 10

// CloseInput ends the process's standard input.
func (p *Process) CloseInput(ctx context.Context) error {
	_, err := p.input(ctx, wire.Input{ID: p.ID, Close: true})
	return err
}

// input sends input once: it must not arrive twice.
func (p *Process) input(ctx context.Context, in wire.Input) (int, error) {
	conn, _, err := p.box.connected(ctx)
	if err == nil && !conn.hello.Can(wire.CanProcesses) {
		err = errUnsupported
	}
	if err == nil {
		err = ctx.Err()
	}
	var taken wire.Taken
	if err == nil {
		var frame wire.Frame
		if frame, err = conn.ask(wire.TypeInput, in); err == nil {
			err = frame.Decode(&taken)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("cannot write to the process: %w", processFailure(err))
	}
	return taken.Bytes, nil
}

func publicProcess(p wire.Process) ProcessInfo {
	info := ProcessInfo{ID: p.ID, Name: p.Name, Argv: p.Argv, Line: p.Line, Session: p.Session, Cwd: p.Cwd, PID: p.PID,
		State: ProcessState(p.State), Started: p.Started, Ended: p.Ended, LogStart: p.LogStart, LogEnd: p.LogEnd,
		Input: p.Input, Watch: p.Watch, Notify: p.Notify, Remark: p.Remark}
	if p.Exit != nil {
		r := publicResult(p.ID, *p.Exit)
		info.Result = &r
	}
	return info
}
