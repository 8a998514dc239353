package toolbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hermes.example/hermes/internal/toolbox/capture"
	"hermes.example/hermes/sandbox"
)

// inquiry is one question about a process that is there.
type inquiry struct {
	ctx     context.Context
	tools   *Toolbox
	box     *sandbox.Sandbox
	in      ProcessInput
	out     *ProcessOutput
	secrets []string

	process *sandbox.Process
	info    sandbox.ProcessInfo
}

// find looks the process up, by its id or by the name of one that runs, or else of the last that did.
func (q *inquiry) find() error {
	all, err := q.box.Processes(q.ctx)
	if err != nil {
		return err
	}
	var known []string
	for _, p := range all {
		known = append(known, p.ID)
		if p.ID == q.in.ProcessID || p.Name == q.in.ProcessID && q.info.State != sandbox.ProcessRunning {
			q.info = p
		}
	}
	if q.info.ID == "" {
		if len(known) == 0 {
			known = []string{"none"}
		}
		return refuse("cannot %s the process %q: there is no such process; known are: %s", q.in.Action, q.in.ProcessID, strings.Join(known, ", "))
	}
	q.process = q.box.Process(q.info.ID)
	q.tell(q.info)
	return nil
}

// tell puts the state of the process into the answer.
func (q *inquiry) tell(info sandbox.ProcessInfo) {
	state := publicState(info, q.secrets)
	q.info, q.out.Process = info, &state
}

func (q *inquiry) note(format string, args ...any) {
	q.out.Notes = append(q.out.Notes, fmt.Sprintf(format, args...))
}

func (q *inquiry) list() error {
	all, err := q.box.Processes(q.ctx)
	for _, p := range all {
		q.out.Processes = append(q.out.Processes, publicState(p, q.secrets))
	}
	if err == nil && len(all) == 0 {
		q.note("there are none")
	}
	return err
}

// What is read of a log.
const (
	// mostLog is how much at a time, in bytes and so in characters.
	mostLog = 200_000
	// usualLines are read where nothing else is asked for, fewLines with an answer that is about something else.
	usualLines = 200
	fewLines   = 20
)

func (q *inquiry) poll() error { return q.end(fewLines) }

func (q *inquiry) log() error {
	if q.in.Offset == nil {
		return q.end(q.in.Lines)
	}
	if *q.in.Offset < 0 {
		return q.read(sandbox.LogOptions{Offset: *q.in.Offset}, &last{})
	}
	return q.read(sandbox.LogOptions{Offset: *q.in.Offset}, &first{})
}

// end reads the last lines.
func (q *inquiry) end(lines int) error {
	if q.in.Lines > 0 {
		lines = q.in.Lines
	}
	if lines <= 0 {
		lines = usualLines
	}
	return q.read(sandbox.LogOptions{Lines: lines}, &last{})
}

// read puts a part of the log into the answer.
func (q *inquiry) read(o sandbox.LogOptions, part part) error {
	read, err := q.process.Logs(q.ctx, o, part)
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	raw, before := part.taken()
	c := capture.New(capture.Options{Limit: mostLog, Secrets: q.secrets})
	c.Write(raw)
	q.out.Output = c.Finish("").Text
	q.out.Offset = read.Offset + before
	q.out.Next = q.out.Offset + int64(len(raw))
	if err == nil {
		q.out.Next = read.Next
		q.tell(read.Process)
	}
	if read.Missed > 0 {
		q.out.Next = max(q.out.Next, read.Offset+read.Missed)
		q.note("%d bytes of the log are no longer kept", read.Missed)
	}
	if before > 0 {
		q.note("this is the end of what was asked for; the %d bytes before it can be read with offset", before)
	}
	if errors.Is(err, errEnough) {
		q.note("there is more; read on with offset %d", q.out.Next)
	}
	return nil
}

// wait waits for the process to end, no longer than a caller may wait.
func (q *inquiry) wait() error {
	limit := q.tools.settings.Timeout
	if q.in.Timeout != nil {
		if *q.in.Timeout <= 0 {
			return refuse("cannot wait for the process: the timeout %d is not above 0; use the action poll to wait for nothing", *q.in.Timeout)
		}
		limit = duration(*q.in.Timeout)
	}
	if most := q.tools.settings.MaxForeground; limit > most {
		limit = most
		q.note("the longest wait is %s", seconds(most))
	}
	ctx, cancel := context.WithTimeout(q.ctx, limit)
	defer cancel()
	_, err := q.process.Wait(ctx)
	if err != nil && (ctx.Err() == nil || q.ctx.Err() != nil) {
		return err
	}
	if err != nil {
		q.note("it still runs after %s; wait again, or look at it with poll", seconds(limit))
	}
	return q.end(fewLines)
}

// killGrace is how long a process has to end by itself.
const killGrace = 5 * time.Second

func (q *inquiry) kill() error {
	if q.info.State != sandbox.ProcessRunning {
		q.note("it had ended already")
		return q.end(fewLines)
	}
	result, err := q.process.Kill(q.ctx, killGrace)
	if err != nil {
		return err
	}
	if len(result.Survivors) > 0 {
		q.note("%d of its processes could not be ended", len(result.Survivors))
	}
	return q.end(fewLines)
}

func (q *inquiry) write() error {
	data := q.in.Data
	if q.in.Newline {
		data += "\n"
	}
	switch {
	case q.info.State != sandbox.ProcessRunning:
		return refuse("cannot write to %s: it has ended", q.info.ID)
	case !q.info.Input:
		return refuse("cannot write to %s: it has no standard input; start it with the process tool and input=true", q.info.ID)
	case data == "" && !q.in.CloseStdin:
		return refuse("cannot write to %s: there is nothing to write; give data, newline or close_stdin", q.info.ID)
	}
	n, err := q.process.Write(q.ctx, []byte(data))
	if q.out.Written = n; err != nil {
		return err
	}
	if q.in.CloseStdin {
		return q.process.CloseInput(q.ctx)
	}
	return nil
}
