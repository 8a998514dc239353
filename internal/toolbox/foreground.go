package toolbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hermes.example/hermes/internal/toolbox/capture"
	"hermes.example/hermes/sandbox"
)

// outerBound is how long a command may go on beyond its timeout before it counts as ended by it, whatever the sandbox
// says: a caller must not wait for one that no longer answers.
const outerBound = 15 * time.Second

// foreground runs a command and waits for it.
func (t *Toolbox) foreground(ctx context.Context, in TerminalInput, timeout time.Duration, progress func(Progress)) (TerminalOutput, error) {
	env, secrets, err := t.environment()
	if err != nil {
		return TerminalOutput{}, err
	}
	output := capture.New(capture.Options{Limit: t.settings.MaxOutput, Secrets: secrets, Home: t.home, Now: t.now})
	command := sandbox.Command{Line: in.Command, Env: env, Cwd: in.Workdir, Stdout: output, Timeout: timeout}
	if in.Stdin != "" {
		command.Stdin = strings.NewReader(in.Stdin)
	}
	stop := t.report(output, progress)
	defer stop()
	var result sandbox.Result
	overdue := false
	recreated, err := t.use(ctx, func(box *sandbox.Sandbox) (err error) {
		// To make a sandbox takes its own time: an image may have to be fetched.
		bounded, cancel := context.WithTimeout(ctx, timeout+t.patience)
		defer cancel()
		result, err = box.Session(t.session).Exec(bounded, command)
		overdue = bounded.Err() != nil && ctx.Err() == nil
		return err
	})
	stop()
	var unavailable *Unavailable
	switch {
	case errors.Is(err, sandbox.ErrMayHaveRun):
		result = sandbox.Result{Code: -1, Reason: sandbox.Lost, Message: "the sandbox ended when it was given the command"}
	case errors.As(err, &unavailable) && t.settings.Degraded:
		return degraded(unavailable), nil
	case err != nil:
		return TerminalOutput{}, err
	}
	if overdue {
		result.Code, result.Reason = 124, sandbox.TimedOut
	}
	result.Recreated = recreated
	if result.Reason == sandbox.Exited {
		t.rememberSession(true)
	}
	return describe(in.Command, timeout, result, output), nil
}

// describe makes the answer of a command that has ended.
func describe(command string, timeout time.Duration, r sandbox.Result, output *capture.Capture) TerminalOutput {
	status := ""
	switch r.Reason {
	case sandbox.TimedOut:
		status = "[Command timed out after " + strconv.FormatFloat(timeout.Seconds(), 'f', -1, 64) + "s]"
	case sandbox.Interrupted:
		status = "[Command interrupted]"
	}
	if r.Reason == sandbox.NotStarted {
		fmt.Fprintln(output, r.Message)
	}
	text := output.Finish(status)
	out := TerminalOutput{Output: text.Text, ExitCode: r.Code, Cwd: r.Cwd, TimedOut: r.Reason == sandbox.TimedOut, Recreated: r.Recreated}
	if r.Reason != sandbox.Exited {
		out.Reason = string(r.Reason)
	}
	if text.Cut {
		out.Total, out.FullOutput = text.Total, text.File
	}
	out.note(text.Remark)
	out.note(lasting(r))
	if r.Reason == sandbox.Exited {
		out.note(exitNote(command, r.Code))
	}
	return out
}

// lasting is what a result leaves to be known beside its status.
func lasting(r sandbox.Result) string {
	var said []string
	switch r.Reason {
	case sandbox.Lost:
		said = append(said, "how the command ended is not known ("+r.Message+"): see what it has done before you run it again")
	case sandbox.TimedOut, sandbox.Interrupted:
		said = append(said, "the command was ended with everything that it had started, and the session's directory and variables are as they were before it")
	case sandbox.OutOfMemory:
		said = append(said, r.Message)
	case sandbox.Signaled:
		said = append(said, "the command was ended by signal "+strconv.Itoa(r.Signal))
	}
	if r.CwdFallback != "" {
		said = append(said, "the session's directory no longer exists; the command ran in "+r.CwdFallback)
	}
	if r.Missed > 0 {
		said = append(said, fmt.Sprintf("%d bytes of output were lost on the way", r.Missed))
	}
	if len(r.Survivors) > 0 {
		said = append(said, fmt.Sprintf("%d processes of the command could not be ended", len(r.Survivors)))
	}
	if r.Recreated {
		said = append(said, recreatedNote)
	}
	return strings.Join(said, "; ")
}

const recreatedNote = "the sandbox had ended and was made anew: background processes and the session's directory and variables are gone, files that it keeps are there"

func (o *TerminalOutput) note(text string) {
	if text != "" {
		o.Notes = append(o.Notes, text)
	}
}

// report calls progress every beat, until the returned function is called, which waits for it.
func (t *Toolbox) report(output *capture.Capture, progress func(Progress)) (stop func()) {
	if progress == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	began := time.Now()
	go func() {
		defer close(done)
		ticker := time.NewTicker(t.beat)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				size, line := output.Progress()
				progress(Progress{Elapsed: time.Since(began), Bytes: size, Line: line})
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
