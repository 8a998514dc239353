package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

func (a *API) attachOperations() []Operation {
	return []Operation{{
		Method: "GET", Path: "/v1/sandboxes/{task}/attach", ID: "attach", Tag: "exec",
		Summary: "Run or follow a command with live input, or on a terminal, by WebSocket",
		Detail: "Text messages are JSON: the caller's are AttachRequest, the first of them start or follow, and the gateway's are AttachAnswer. Binary messages are bytes: the " +
			"caller's are the command's input, and the gateway's its output, each with the number of the stream (1 or 2) in its first byte and the offset in the next eight, big-endian. " +
			"A command that was started with an id goes on when its caller goes away, and is taken up with follow; any other one ends with its caller.",
		Answers: []Answer{{Status: http.StatusSwitchingProtocols, Description: "the WebSocket is open"}},
		Errors:  []code{client.CodeUpgrade},
		Handle:  a.attach,
	}}
}

// The bounds of a WebSocket.
const (
	// messageLimit is how large a message of the caller may be. More input is more messages.
	messageLimit = 256 << 10
	// firstMessage is how long a caller may take to say what it wants.
	firstMessage = 10 * time.Second
	// pingEvery is how often it is found out whether somebody is there, and how long the answer may take.
	pingEvery = 20 * time.Second
	// queued is how many messages of input may wait for the command. Then the caller waits.
	queued = 16
)

func (a *API) attach(w http.ResponseWriter, r *http.Request) error {
	if !isUpgrade(r) {
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
		return Problem(client.CodeUpgrade, "cannot attach: this route is a WebSocket; to run a command without live input use POST …/exec")
	}
	// Whose page asks was looked at by the gate.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil // which has answered
	}
	a.streams.Add(1)
	defer a.streams.Done()
	defer conn.CloseNow()
	conn.SetReadLimit(messageLimit)
	ctx, stop := context.WithCancel(a.life)
	defer stop()
	s := &attachment{api: a, conn: conn, ctx: ctx, stop: stop, task: r.PathValue("task"), input: make(chan []byte, queued), over: make(chan struct{}), sizes: make(chan sandbox.Size, 1)}
	s.serve()
	return nil
}

func isUpgrade(r *http.Request) bool {
	return headerHas(r.Header, "Connection", "upgrade") && headerHas(r.Header, "Upgrade", "websocket")
}

// attachment is one WebSocket and the command behind it. Its life: the first message says which command, then one
// goroutine reads messages, one asks whether the caller is there, and serve passes output on until the command's end.
type attachment struct {
	api  *API
	conn *websocket.Conn
	// ctx is over when the caller or the gateway is gone.
	ctx  context.Context
	stop context.CancelFunc

	task  string
	input chan []byte   // closed at the end of the input
	over  chan struct{} // closed when nobody waits for the command any more
	sizes chan sandbox.Size
	at    client.Position
	frame []byte // the last one that was sent, for its memory

	sending atomic.Int64 // messages that the caller has not taken yet

	mu      sync.Mutex // of what follows
	blocked bool       // nothing is read, because the command does not take its input
}

func (s *attachment) serve() {
	first, err := s.first()
	if err != nil {
		s.refuse(err)
		return
	}
	id, keyed := first.ID, first.Type == client.AttachFollow
	var c *running
	if first.Type == client.AttachStart {
		if c, err = s.command(first); err != nil {
			s.refuse(err)
			return
		}
		id, keyed = c.ID, c.keyed
	}
	ctx, leave := s.api.unlessDraining(s.ctx, keyed)
	defer leave()
	var beside sync.WaitGroup
	beside.Go(func() { s.read(id) })
	beside.Go(s.ping)
	var result sandbox.Result
	if c != nil {
		result, err = s.api.run(ctx, c)
	} else {
		result, err = s.followed(ctx, id, first)
	}
	close(s.over)
	switch {
	case err == nil:
		s.say(client.AttachAnswer{Type: client.AttachExit, ID: id, Result: &result})
		s.conn.Close(websocket.StatusNormalClosure, "")
	case errors.Is(context.Cause(ctx), errDraining):
		s.say(client.AttachAnswer{Type: client.AttachDraining, ID: id})
		s.conn.Close(websocket.StatusGoingAway, "the gateway is ending")
	default:
		s.refuse(err)
	}
	s.stop()
	beside.Wait()
}

// first reads what the caller wants.
func (s *attachment) first() (request client.AttachRequest, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, firstMessage)
	defer cancel()
	kind, text, err := s.conn.Read(ctx)
	switch {
	case err != nil:
		return request, bad("cannot attach: no first message came")
	case kind != websocket.MessageText:
		return request, bad("cannot attach: the first message is JSON in a text frame")
	}
	if err := decodeJSON(text, &request); err != nil {
		return request, err
	}
	return request, checkFirst(request)
}

// checkFirst says what is wrong with a first message.
func checkFirst(request client.AttachRequest) error {
	follow := request.Type == client.AttachFollow
	switch {
	case !follow && request.Type != client.AttachStart:
		return bad("cannot attach: the first message is of the type start or follow")
	case follow && (request.ID == "" || request.Exec != nil):
		return bad("cannot attach: to follow a command takes its id, and no other command")
	case follow && request.From != nil && (request.From.Stdout < 0 || request.From.Stderr < 0):
		return bad("cannot attach: offsets are not negative")
	case !follow && request.From != nil:
		return bad("cannot attach: a new command begins at its beginning; use the type follow")
	case !follow && request.Exec != nil && (request.Exec.Stdin != "" || request.Exec.StdinBase64 != nil):
		return bad("cannot attach: input comes in binary messages, and not as stdin")
	}
	if request.ID != "" {
		return checkID(request.ID)
	}
	return nil
}

// command makes the command that the caller wants to start.
func (s *attachment) command(first client.AttachRequest) (*running, error) {
	if first.Exec == nil {
		first.Exec = &client.Exec{}
	}
	shell := first.Term != nil && first.Exec.Line == "" && len(first.Exec.Argv) == 0
	e := *first.Exec
	if shell {
		e.Line = "exit" // it takes the place of what the sandbox knows
	}
	c, err := command(s.task, "", e)
	if err != nil {
		return nil, err
	}
	if shell {
		c.Line = ""
	}
	if err := c.name(first.ID, first); err != nil {
		return nil, err
	}
	c.Stdin = &source{messages: s.input, over: s.over}
	c.Stdout, c.Stderr = s.stream(client.Stdout), s.stream(client.Stderr)
	if first.Exec.Merge {
		c.Stderr = nil
	}
	if first.Term != nil {
		c.Terminal = &sandbox.Terminal{Rows: first.Term.Rows, Cols: first.Term.Cols, Term: first.Term.Term, Resized: s.sizes}
	}
	c.Gap, c.Started = s.gap, func(bool) { s.started(c.ID) }
	return c, nil
}

// followed follows a command that the caller or another has started.
func (s *attachment) followed(ctx context.Context, id string, first client.AttachRequest) (result sandbox.Result, err error) {
	if first.From != nil {
		s.at = *first.From
	}
	s.api.metrics.running.Inc()
	defer s.api.metrics.running.Dec()
	err = s.api.use(ctx, s.task, alive, func(box *sandbox.Sandbox) (err error) {
		result, err = box.Follow(ctx, id, sandbox.Following{
			Stdout: s.stream(client.Stdout), Stderr: s.stream(client.Stderr), Stdin: &source{messages: s.input, over: s.over},
			Terminal: &sandbox.Terminal{Resized: s.sizes}, From: sandbox.Offsets(s.at),
			Gap: s.gap, Started: func(bool) { s.started(id) },
		})
		return err
	})
	return result, err
}

func (s *attachment) started(id string) {
	s.say(client.AttachAnswer{Type: client.AttachStarted, ID: id})
}

// stream is what one stream of the command is written to.
func (s *attachment) stream(stream client.Stream) writer {
	return func(b []byte) (int, error) {
		offset := &s.at.Stdout
		if stream == client.Stderr {
			offset = &s.at.Stderr
		}
		s.frame = client.Chunk{Stream: stream, Offset: *offset, Bytes: b}.AppendTo(s.frame[:0])
		*offset += int64(len(b))
		s.api.metrics.output.Add(float64(len(b)))
		return len(b), s.send(websocket.MessageBinary, s.frame)
	}
}

// gap moves on: the next chunk says where it is.
func (s *attachment) gap(isStderr bool, n int64) {
	if isStderr {
		s.at.Stderr += n
	} else {
		s.at.Stdout += n
	}
}

func (s *attachment) say(a client.AttachAnswer) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return s.send(websocket.MessageText, text)
}

// send writes one message, which the caller has to take in time.
func (s *attachment) send(kind websocket.MessageType, message []byte) error {
	s.sending.Add(1)
	defer s.sending.Add(-1)
	ctx, cancel := context.WithTimeout(s.ctx, stall)
	defer cancel()
	err := s.conn.Write(ctx, kind, message)
	if err != nil {
		s.stop()
	}
	return err
}

// refuse says why it does not go on, and closes.
func (s *attachment) refuse(err error) {
	if s.ctx.Err() != nil {
		return
	}
	p := problemOf(err)
	s.say(client.AttachAnswer{Type: client.AttachProblem, Problem: p})
	status := websocket.StatusPolicyViolation
	if p.Status >= http.StatusInternalServerError {
		status = websocket.StatusInternalError
	}
	s.conn.Close(status, "")
}
