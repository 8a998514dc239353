package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"time"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

// How long a request may wait for a process: who wants to wait longer asks again.
const (
	usualWait = time.Minute
	mostWait  = 10 * time.Minute
)

// inputLimit is how much input a process is given in one request.
const inputLimit = 16 << 20

var processErrors = []code{client.CodeNotFound, client.CodeNoProcess, client.CodeUnprocessable, client.CodeGone}

func (a *API) processOperations() []Operation {
	const route, one = "/v1/sandboxes/{task}/processes", "/v1/sandboxes/{task}/processes/{id}"
	return []Operation{
		{
			Method: "POST", Path: route, ID: "startProcess", Tag: "processes",
			Summary:    "Start a command in the background",
			Detail:     "It belongs to no caller and runs until it ends or is ended. With an Idempotency-Key it is started at most once, however often it is asked for.",
			Parameters: []Parameter{{Name: client.IdempotencyKey, In: inHeader, Description: "a name for this start, of the caller's choice"}},
			Request:    &Body{Type: client.ProcessRequest{}},
			Answers:    []Answer{{Status: 201, Description: "it runs", Type: client.ProcessAnswer{}}},
			Errors:     []code{client.CodeKeyReused, client.CodeUnprocessable, client.CodeGone},
			Handle:     a.startProcess,
		},
		{
			Method: "GET", Path: route, ID: "listProcesses", Tag: "processes",
			Summary: "List the background processes that are kept",
			Answers: []Answer{{Status: 200, Description: "in the order of their start", Type: client.ProcessList{}}}, Errors: processErrors,
			Handle: func(w http.ResponseWriter, r *http.Request) error {
				return a.look(r.Context(), r.PathValue("task"), func(box *sandbox.Sandbox) error {
					all, err := box.Processes(r.Context())
					if err != nil {
						return err
					}
					return answer(w, http.StatusOK, client.ProcessList{Processes: all})
				})
			},
		},
		{
			Method: "GET", Path: one, ID: "pollProcess", Tag: "processes",
			Summary: "Look at a process",
			Answers: []Answer{{Status: 200, Description: "what is known of it", Type: sandbox.ProcessInfo{}}}, Errors: processErrors,
			Handle: a.onProcess(a.look, func(*query) processAction { return pollProcess }),
		},
		{
			Method: "DELETE", Path: one, ID: "killProcess", Tag: "processes",
			Summary:    "End a process and everything that it has started",
			Detail:     "All are asked to end, and killed if they have not after the grace. The answer comes when they are gone; those that are not are in it.",
			Parameters: []Parameter{{Name: "grace", In: inQuery, Type: 0.0, Description: "seconds between the request to end and the kill"}},
			Answers:    []Answer{{Status: 200, Description: "how it ended", Type: sandbox.Result{}}}, Errors: processErrors,
			Handle: a.onProcess(a.useExisting, killProcess),
		},
		{
			Method: "POST", Path: one + "/input", ID: "writeProcess", Tag: "processes",
			Summary:    "Write to a process's standard input",
			Detail:     "The answer comes when the process has taken it, or says how much of it was taken.",
			Parameters: []Parameter{{Name: "close", In: inQuery, Type: false, Description: "end the input afterwards"}},
			Request:    &Body{Media: mediaBytes, Limit: inputLimit, Optional: true},
			Answers:    []Answer{{Status: 200, Description: "how much was taken", Type: client.Written{}}}, Errors: processErrors,
			Handle: a.onProcess(a.useExisting, writeProcess),
		},
		{
			Method: "POST", Path: one + "/signal", ID: "signalProcess", Tag: "processes",
			Summary: "Send a signal to a process and its process group",
			Request: &Body{Type: client.SignalRequest{}},
			Answers: []Answer{{Status: 204, Description: "it was sent"}}, Errors: processErrors,
			Handle: a.signalProcess,
		},
		{
			Method: "POST", Path: one + "/wait", ID: "waitForProcess", Tag: "processes",
			Summary:    "Wait for the end of a process",
			Parameters: []Parameter{{Name: "timeout", In: inQuery, Type: 0.0, Description: "seconds after which the answer comes in any case: 60 if it is not there, and never more than 600"}},
			Answers:    []Answer{{Status: 200, Description: "the process, ended or not", Type: client.WaitAnswer{}}}, Errors: processErrors,
			Handle: a.onProcess(a.useExisting, waitForProcess),
		},
		{
			Method: "GET", Path: one + "/log", ID: "readLog", Tag: "processes",
			Summary: "Read what a process has written",
			Detail:  "As JSON it is one part of at most limit bytes, and next says where to go on. As a stream of events it is all from there on, and with follow until the process has ended; a stream that broke goes on after Last-Event-ID.",
			Parameters: []Parameter{
				{Name: "offset", In: inQuery, Type: int64(0), Description: "where to begin; below zero so many bytes before the end"},
				{Name: "lines", In: inQuery, Type: int64(0), Description: "begin so many lines before the end instead"},
				{Name: "limit", In: inQuery, Type: int64(0), Description: "how many bytes an answer in JSON has at most: 1 MiB if it is not there, and never more than 16 MiB"},
				{Name: "follow", In: inQuery, Type: false, Description: "go on until the process has ended; for streams"},
				{Name: "Last-Event-ID", In: inHeader, Description: "the id of the last event that was received"}},
			Answers: []Answer{
				{Status: 200, Description: "a part of the log", Type: client.LogAnswer{}},
				{Status: 200, Description: "the log as it is written", Events: []Event{
					{Name: client.EventLog, Description: "some of it; its id is the offset after it", Type: client.LogPiece{}},
					{Name: client.EventEnd, Description: "there is no more", Type: sandbox.LogPart{}},
					{Name: client.EventProblem, Description: "it could not be read to its end", Type: client.Problem{}},
					{Name: client.EventDraining, Description: "the gateway ends", Type: client.Draining{}}}}},
			Errors: processErrors,
			Handle: a.onProcess(a.look, a.readLog),
		},
		{
			Method: "GET", Path: "/v1/sandboxes/{task}/events", ID: "readEvents", Tag: "processes",
			Summary: "What happens to background processes",
			Detail:  "Lines that a watch pattern matches, and ends of processes with notify. The last 256 events are kept; who was away longer is told of a gap. As JSON it is what happened already, as a stream of events also what happens.",
			Parameters: []Parameter{
				{Name: "since", In: inQuery, Type: uint64(0), Description: "the number of the last event that is known"},
				{Name: "Last-Event-ID", In: inHeader, Description: "the same, for streams; it counts more"}},
			Answers: []Answer{
				{Status: 200, Description: "what happened", Type: client.EventList{}},
				{Status: 200, Description: "what happens", Events: []Event{
					{Name: client.EventHappened, Description: "its id is its number", Type: sandbox.Event{}},
					{Name: client.EventProblem, Description: "there will be no more", Type: client.Problem{}},
					{Name: client.EventDraining, Description: "the gateway ends", Type: client.Draining{}}}}},
			Errors: []code{client.CodeNotFound, client.CodeGone},
			Handle: a.readEvents,
		},
	}
}

// processAction is what is done with one process.
type processAction func(p *sandbox.Process, w http.ResponseWriter, r *http.Request) error

// onProcess makes a handler of an action, which has the sandbox by a way to it. Its parameters are read, and refused, before
// the sandbox is looked for.
func (a *API) onProcess(with way, read func(*query) processAction) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		q := &query{r: r}
		do := read(q)
		if q.err != nil {
			return q.err
		}
		lasts(w)
		return with(r.Context(), r.PathValue("task"), func(box *sandbox.Sandbox) error { return do(box.Process(r.PathValue("id")), w, r) })
	}
}

func (a *API) startProcess(w http.ResponseWriter, r *http.Request) error {
	var asked client.ProcessRequest
	if err := decode(w, r, &asked); err != nil {
		return err
	}
	task := r.PathValue("task")
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	c, err := command(task, "", client.Exec{Line: asked.Line, Argv: asked.Argv, Session: asked.Session, Env: asked.Env, Cwd: asked.Cwd, Timeout: asked.Timeout})
	if err != nil {
		return err
	}
	if asked.Window < 0 {
		return bad("cannot start a process: its window must not be negative")
	}
	forwarded, err := a.Sandboxes.Forwarded()
	if err != nil {
		return err
	}
	c.Env, c.Window = forwarded.Under(c.Env), asked.Window
	if c.ID = ""; key != "" {
		if err := c.name(key, asked); err != nil {
			return err
		}
		c.ID = processID(a.Sandboxes.Identity(task), key)
	}
	b := sandbox.Background{Command: c.Command, Name: asked.Name, Input: asked.Input, Watch: asked.Watch, Notify: asked.Notify}
	lasts(w)
	return a.use(r.Context(), r.PathValue("task"), made, func(box *sandbox.Sandbox) error {
		start := box.Start
		if asked.Session != "" {
			start = box.Session(asked.Session).Start
		}
		p, err := start(r.Context(), b)
		if err != nil {
			return err
		}
		return answer(w, http.StatusCreated, client.ProcessAnswer{Process: p.Started, Recreated: p.Recreated})
	})
}

// processID makes the id of a process of a caller's key: ids of processes have a form of their own.
func processID(id sandbox.Identity, key string) string {
	sum := sha256.Sum256([]byte(id.Key() + "\x00" + key))
	return "proc_" + hex.EncodeToString(sum[:6])
}

func pollProcess(p *sandbox.Process, w http.ResponseWriter, r *http.Request) error {
	info, err := p.Poll(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, info)
}

func killProcess(q *query) processAction {
	grace := q.Seconds("grace", 0)
	return func(p *sandbox.Process, w http.ResponseWriter, r *http.Request) error {
		result, err := p.Kill(r.Context(), grace)
		if err != nil {
			return err
		}
		return answer(w, http.StatusOK, result)
	}
}

func writeProcess(q *query) processAction {
	end := q.Bool("close")
	return func(p *sandbox.Process, w http.ResponseWriter, r *http.Request) error {
		if _, err := p.Poll(r.Context()); err != nil { // who writes nothing is to know, too, that there is none
			return err
		}
		data, err := io.ReadAll(newInflow(w, r))
		if err != nil {
			return received(err)
		}
		n, err := p.Write(r.Context(), data)
		if err == nil && end {
			err = p.CloseInput(r.Context())
		}
		if err != nil {
			return err
		}
		return answer(w, http.StatusOK, client.Written{Bytes: int64(n)})
	}
}

func (a *API) signalProcess(w http.ResponseWriter, r *http.Request) error {
	var asked client.SignalRequest
	if err := decode(w, r, &asked); err != nil {
		return err
	}
	if asked.Signal < 1 || asked.Signal > 64 {
		return bad("signal must be a number from 1 to 64, as Linux has them")
	}
	return a.use(r.Context(), r.PathValue("task"), existing, func(box *sandbox.Sandbox) error {
		return finish(w, box.Process(r.PathValue("id")).Signal(r.Context(), asked.Signal))
	})
}

func waitForProcess(q *query) processAction {
	within := min(q.Seconds("timeout", usualWait), mostWait)
	return func(p *sandbox.Process, w http.ResponseWriter, r *http.Request) error {
		ctx, stop := context.WithTimeout(r.Context(), within)
		defer stop()
		_, err := p.Wait(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		info, err := p.Poll(r.Context())
		if err != nil {
			return err
		}
		return answer(w, http.StatusOK, client.WaitAnswer{Ended: info.State != sandbox.ProcessRunning, Process: info})
	}
}
