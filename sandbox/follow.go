package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"hermes.example/hermes/internal/wire"
)

var (
	// ErrNoCommand means that a sandbox knows no command of an id.
	ErrNoCommand = errors.New("no command has that id")
	// ErrIDReused means that another command was asked for under an id before.
	ErrIDReused = errors.New("another command has that id")
)

// Following is how a command is followed that was started under an id, by this
// caller or another.
type Following struct {
	// Stdout and Stderr are as those of a Command: without Stderr the error output
	// goes to Stdout, as far as it comes apart at all.
	Stdout, Stderr io.Writer
	// Stdin is sent to a command that was started with input.
	Stdin io.Reader
	// Terminal brings sizes to a command that has a terminal; only Resized counts.
	Terminal *Terminal
	// From is how much of the output the caller has.
	From Offsets
	// Started and Gap are as those of a Command.
	Started func(known bool)
	Gap     func(stderr bool, bytes int64)
}

// Offsets are how many bytes of the streams of a command came before.
type Offsets struct{ Stdout, Stderr int64 }

// Follow waits for the end of a command that was started under an id, and passes on
// its output from where the caller is. When ctx is over only the waiting is: a
// Detached command goes on, and any other one too as long as somebody follows it.
// ErrNoCommand means that the sandbox knows none of that id, ErrRefused that nobody can be where the caller says it is.
func (s *Sandbox) Follow(ctx context.Context, id string, f Following) (Result, error) {
	if id == "" || f.From.Stdout < 0 || f.From.Stderr < 0 {
		return Result{}, errors.New("cannot follow a command: it needs an id, and offsets that are not negative")
	}
	if f.Stderr == nil {
		f.Stderr = f.Stdout
	}
	x := &execution{box: s, follows: true, stdout: f.From.Stdout, stderr: f.From.Stderr, request: wire.Exec{ID: id},
		command: Command{ID: id, Stdin: f.Stdin, Stdout: f.Stdout, Stderr: f.Stderr, Terminal: f.Terminal, Started: f.Started, Gap: f.Gap}}
	return x.run(ctx)
}

// find looks for the command in the sandbox that is there, and makes none.
func (x *execution) find(ctx context.Context) (*stream, error) {
	attach := wire.Attach{ID: x.request.ID, Stdout: x.stdout, Stderr: x.stderr}
	for attempt := 1; ; attempt++ {
		conn, err := x.box.reconnect(ctx)
		if err != nil {
			return nil, err
		}
		line, err := conn.openCommand(ctx, wire.TypeAttach, attach)
		if err == nil || attempt == dialogueAttempts || errors.Is(err, ErrGone) || errors.Is(err, ErrNotFound) {
			return line, err
		}
		select {
		case <-time.After(time.Duration(attempt) * dialoguePause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Interrupt ends the command of an id and its whole tree, as the end of the context
// of its Exec does. It returns when that has begun; Follow tells how it ended.
func (s *Sandbox) Interrupt(ctx context.Context, id string) error {
	err := s.inquire(ctx, func(conn *connection) error {
		_, err := conn.ask(wire.TypeControl, wire.Control{ID: id, Interrupt: true})
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot interrupt the command: %w", idError(err))
	}
	return nil
}

// idError makes what a guest says about an id what a caller can ask for.
func idError(err error) error {
	var failure *wire.Failure
	if !errors.As(err, &failure) {
		return err
	}
	switch failure.Code {
	case wire.FailureUnknownID:
		return ErrNoCommand
	case wire.FailureReused:
		return ErrIDReused
	case wire.FailureBadRequest:
		return &refusal{failure}
	}
	return err
}
