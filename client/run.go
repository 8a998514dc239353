package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"hermes.example/hermes/sandbox"
)

// ExecOptions are a caller's ends of a command.
type ExecOptions struct {
	// Key names the command: the same key never runs twice in a sandbox, and who asks again gets the same output and
	// the same result. Empty means a new random one.
	Key string
	// Stdin is the command's input. What is on its way when a connection breaks may be lost; the output never is. A Read
	// that is under way when the command ends is not waited for.
	Stdin  io.Reader
	Stdout io.Writer
	// Stderr may be nil: then the error output goes to Stdout, in order.
	Stderr io.Writer
	// Terminal gives the command a terminal instead of pipes. Then a command without a line and a program is a login
	// shell.
	Terminal *sandbox.Terminal
}

// interruptTime bounds how long a cancelled command is waited for.
const interruptTime = 20 * time.Second

// Exec runs a command and waits for its end. A connection that breaks is made again, and the output goes on where it
// was. When ctx is cancelled the command and its whole tree are ended, and the result says that it was interrupted.
// A command whose caller is killed goes on: give it a Timeout where that must not be.
//
// The error is about Hermes, not about the command: a command that fails, times out or cannot be found has a result
// and no error.
func (t *Task) Exec(ctx context.Context, e Exec, o ExecOptions) (sandbox.Result, error) {
	if err := ctx.Err(); err != nil {
		return sandbox.Result{}, err
	}
	if o.Key == "" {
		o.Key = rand.Text()
	}
	if o.Stderr == nil {
		e.Merge = true
	}
	r := &running{task: t, id: o.Key, sinks: newSinks(o.Stdout, o.Stderr)}
	if o.Stdin != nil || o.Terminal != nil {
		return r.until(ctx, newAttachment(r, e, o).each)
	}
	s := &stream{
		client: t.client,
		call:   call{method: http.MethodPost, path: t.route("exec"), header: http.Header{IdempotencyKey: {o.Key}}, json: e},
		again:  &call{method: http.MethodGet, path: t.route("exec", o.Key)},
	}
	return r.until(ctx, func(ctx context.Context) error { return s.each(ctx, r.handle) })
}

// Shell runs an interactive login shell on a terminal.
func (t *Task) Shell(ctx context.Context, o ExecOptions) (sandbox.Result, error) {
	if o.Terminal == nil {
		return sandbox.Result{}, errors.New("cannot open a shell without a terminal: give one in the options")
	}
	return t.Exec(ctx, Exec{}, o)
}

// Follow gives the output of a command that was begun with a key, from its beginning, and waits for its end. Where ctx
// is cancelled the command goes on.
func (t *Task) Follow(ctx context.Context, key string, stdout, stderr io.Writer) (sandbox.Result, error) {
	r := &running{task: t, id: key, sinks: newSinks(stdout, stderr)}
	s := &stream{client: t.client, call: call{method: http.MethodGet, path: t.route("exec", key)}}
	err := s.each(ctx, r.handle)
	return r.result, err
}

// Interrupt ends a command that was begun with a key, and its whole tree.
func (t *Task) Interrupt(ctx context.Context, key string) error {
	return t.client.ask(ctx, call{method: http.MethodDelete, path: t.route("exec", key)}, nil)
}

// running is a command on its way.
type running struct {
	task   *Task
	id     string
	sinks  map[Stream]*sink
	result sandbox.Result
}

// until follows the command to its end, and ends it when ctx is over.
func (r *running) until(ctx context.Context, follow func(context.Context) error) (sandbox.Result, error) {
	own, give := context.WithCancel(context.WithoutCancel(ctx))
	defer give()
	ended := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-ended:
		case <-ctx.Done():
			r.interrupt(own, ended)
			give()
		}
	})
	err := follow(own)
	close(ended)
	watch.Wait()
	if broken := (*sinkError)(nil); errors.As(err, &broken) { // nobody has its output any more
		bounded, stop := context.WithTimeout(context.WithoutCancel(ctx), interruptTime)
		defer stop()
		err = errors.Join(broken.error, r.task.Interrupt(bounded, r.id))
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return r.result, err
}

// interrupt ends the command, which may just be on its way to the gateway, and waits for the last event.
func (r *running) interrupt(ctx context.Context, ended <-chan struct{}) {
	ctx, stop := context.WithTimeout(ctx, interruptTime)
	defer stop()
	for wait := newBackoff(interruptTime); ; {
		err := r.task.Interrupt(ctx, r.id)
		if err == nil || !errors.Is(err, sandbox.ErrNotFound) && !temporary(err) {
			break
		}
		if !wait.next(ctx, err) {
			return
		}
		select {
		case <-ended:
			return
		default:
		}
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// handle takes one event.
func (r *running) handle(e event) (last bool, err error) {
	switch e.name {
	case EventOutput:
		var c ExecChunk
		if err := decode(e, &c); err != nil {
			return false, err
		}
		return false, r.write(c.Stream, c.Offset, c.Data())
	case EventGap:
		var g ExecGap
		if err := decode(e, &g); err != nil {
			return false, err
		}
		return false, r.skip(g)
	case EventExit:
		return true, decode(e, &r.result)
	}
	return false, nil // what a newer gateway says beside
}

func (r *running) write(name Stream, offset int64, data []byte) error {
	s := r.sinks[name]
	if s == nil {
		return fmt.Errorf("cannot understand the output: there is no stream %q", name)
	}
	return s.write(offset, data)
}

func (r *running) skip(g ExecGap) error {
	s := r.sinks[g.Stream]
	if s == nil {
		return fmt.Errorf("cannot understand the output: there is no stream %q", g.Stream)
	}
	s.at = max(s.at, g.Offset+g.Bytes)
	r.result.Missed += g.Bytes
	return nil
}

// sink is where a stream goes, and how much of it has gone there.
type sink struct {
	to io.Writer
	at int64
}

// sinkError is a caller's writer that failed.
type sinkError struct{ error }

func newSinks(stdout, stderr io.Writer) map[Stream]*sink {
	if stdout == nil {
		stdout = io.Discard
	}
	if stderr == nil {
		stderr = stdout
	}
	return map[Stream]*sink{Stdout: {to: stdout}, Stderr: {to: stderr}}
}

// write hands on what was not there yet: a connection that is made again may repeat some.
func (s *sink) write(offset int64, data []byte) error {
	if offset < 0 {
		return errors.New("cannot understand the output: it begins before its beginning")
	}
	if offset > s.at {
		return fmt.Errorf("cannot understand the output: %d bytes are missing in it", offset-s.at)
	}
	if old := s.at - offset; old >= int64(len(data)) {
		return nil
	} else {
		data = data[old:]
	}
	n, err := s.to.Write(data)
	s.at += int64(n)
	if err != nil {
		return &sinkError{fmt.Errorf("cannot write the output: %w", err)}
	}
	return nil
}
