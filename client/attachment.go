package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"hermes.example/hermes/sandbox"
)

// attachment is a command with live input, or on a terminal: a WebSocket, and another one where it breaks.
type attachment struct {
	*running
	exec    Exec
	options ExecOptions
	// begun says that the gateway has the command: then it is followed, and not started.
	begun bool

	input chan []byte // closed at the end of the input; nil without any
	// What a connection did not get rid of is for the next one.
	pending []byte
	ended   bool
	size    *sandbox.Size
}

// inputPiece is how much input travels in one message.
const inputPiece = 64 << 10

// mostMessage bounds one message of the gateway.
const mostMessage = 16 << 20

func newAttachment(r *running, e Exec, o ExecOptions) *attachment {
	return &attachment{running: r, exec: e, options: o}
}

// each runs the command to its end.
func (a *attachment) each(ctx context.Context) error {
	over := make(chan struct{})
	defer close(over)
	if a.options.Stdin != nil {
		a.input = make(chan []byte)
		go a.pump(over) // who reads from a person cannot be waited for
	}
	return a.task.client.again(ctx, func(renew func()) (bool, error) { return a.once(ctx, renew) })
}

// pump reads the input, until its end or that of the command.
func (a *attachment) pump(over <-chan struct{}) {
	defer close(a.input)
	for {
		b := make([]byte, inputPiece)
		n, err := a.options.Stdin.Read(b)
		if n > 0 {
			select {
			case a.input <- b[:n]:
			case <-over:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// once is one connection's part.
func (a *attachment) once(ctx context.Context, renew func()) (done bool, err error) {
	conn, err := a.dial(ctx)
	if err != nil {
		return false, err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(mostMessage)
	if err := say(ctx, conn, a.first()); err != nil {
		return false, err
	}
	own, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop()
	// Input is sent before the gateway says anything: a command may be waiting for it.
	beside.Go(func() { a.send(own, conn) })
	for {
		kind, message, err := conn.Read(ctx)
		if err != nil {
			return false, fmt.Errorf("cannot follow the command: %w", err)
		}
		renew()
		if kind == websocket.MessageBinary {
			if err := a.output(message); err != nil {
				return false, &final{err}
			}
			continue
		}
		var answer AttachAnswer
		if err := json.Unmarshal(message, &answer); err != nil {
			return false, &final{fmt.Errorf("cannot understand the gateway: %w", err)}
		}
		switch answer.Type {
		case AttachStarted:
			a.begun = true
		case AttachExit:
			if answer.Result == nil {
				return false, &final{errors.New("cannot understand the gateway: it does not say how the command ended")}
			}
			a.result = *answer.Result
			conn.Close(websocket.StatusNormalClosure, "")
			return true, nil
		case AttachProblem:
			if answer.Problem == nil {
				return false, &final{errors.New("cannot understand the gateway: it does not say what is wrong")}
			}
			return false, &Error{Problem: *answer.Problem}
		}
	}
}

func (a *attachment) dial(ctx context.Context) (*websocket.Conn, error) {
	c := a.task.client
	header := http.Header{}
	if c.key != "" {
		header.Set("Authorization", "Bearer "+c.key)
	}
	address := c.url(call{path: a.task.route("attach")}).String()
	conn, answer, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: c.http, HTTPHeader: header})
	if err == nil {
		return conn, nil
	}
	if answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
		return nil, readError(answer)
	}
	return nil, fmt.Errorf("cannot ask the gateway: %w", err)
}

// first is what a connection begins with.
func (a *attachment) first() AttachRequest {
	if a.begun {
		return AttachRequest{Type: AttachFollow, ID: a.id, From: &Position{Stdout: a.sinks[Stdout].at, Stderr: a.sinks[Stderr].at}}
	}
	first := AttachRequest{Type: AttachStart, ID: a.id, Exec: &a.exec}
	if t := a.options.Terminal; t != nil {
		first.Term = &Terminal{Rows: t.Rows, Cols: t.Cols, Term: t.Term}
	}
	return first
}

// output takes a binary message. What lies before it and did not come is no longer kept.
func (a *attachment) output(message []byte) error {
	chunk, err := ParseChunk(message)
	if err != nil {
		return err
	}
	if at := a.sinks[chunk.Stream].at; chunk.Offset > at {
		if err := a.skip(ExecGap{Stream: chunk.Stream, Offset: at, Bytes: chunk.Offset - at}); err != nil {
			return err
		}
	}
	return a.write(chunk.Stream, chunk.Offset, chunk.Bytes)
}

// send sends input and sizes until the connection is over.
func (a *attachment) send(ctx context.Context, conn *websocket.Conn) {
	var sizes <-chan sandbox.Size
	if a.options.Terminal != nil {
		sizes = a.options.Terminal.Resized
	}
	if a.size != nil && a.resize(ctx, conn, *a.size) != nil {
		return
	}
	for told := false; ; {
		if a.pending != nil {
			if conn.Write(ctx, websocket.MessageBinary, a.pending) != nil {
				return
			}
			a.pending = nil
		}
		input := a.input
		if a.ended {
			input = nil
			if !told && say(ctx, conn, AttachRequest{Type: AttachEnd}) != nil {
				return
			}
			told = true
		}
		select {
		case <-ctx.Done():
			return
		case piece, more := <-input:
			a.pending, a.ended = piece, !more
		case size, more := <-sizes:
			if !more {
				sizes = nil
				continue
			}
			if a.size = &size; a.resize(ctx, conn, size) != nil {
				return
			}
		}
	}
}

func (a *attachment) resize(ctx context.Context, conn *websocket.Conn, s sandbox.Size) error {
	return say(ctx, conn, AttachRequest{Type: AttachResize, Term: &Terminal{Rows: s.Rows, Cols: s.Cols}})
}

func say(ctx context.Context, conn *websocket.Conn, m AttachRequest) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return conn.Write(ctx, websocket.MessageText, text)
}
