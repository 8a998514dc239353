package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"hermes.example/hermes/internal/wire"
)

// interruptBound is how long an interrupted command may take to end, beyond its
// grace, before it is given up as lost.
const interruptBound = 20 * time.Second

// execution carries one command from its request to its result, over as many
// connections as it takes. The command itself is started at most once: its id
// sees to that, also when a request has to be sent again.
type execution struct {
	box     *Sandbox
	command Command
	request wire.Exec
	// follows says that the command is somebody else's: it is looked for, and not
	// started.
	follows bool

	stdout, stderr int64 // bytes received
	missed         int64
	writeErr       error

	mu    sync.Mutex
	line  *stream       // current, for the input to go to
	moved chan struct{} // closed when line has a successor
}

func (x *execution) run(ctx context.Context) (Result, error) {
	stop := make(chan struct{})
	defer close(stop)
	x.box.track(x, true)
	defer x.box.track(x, false)
	given, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	// The caller's cancellation becomes an interrupt, unless it only stops waiting.
	uncancel := context.AfterFunc(ctx, func() {
		if x.leaves() {
			giveUp()
			x.hangUp()
			return
		}
		x.interrupt(stop, giveUp)
	})
	defer uncancel()
	if x.command.Terminal != nil && x.command.Terminal.Resized != nil {
		go x.resize(stop)
	}
	line, recreated, err := x.begin(given)
	if err != nil {
		return Result{ID: x.request.ID}, err
	}
	if x.command.Stdin != nil {
		// Like any reader of a file that may block for ever, this one ends when
		// its source does, or when it next writes.
		go x.feed(stop)
	}
	for {
		if given.Err() != nil && x.leaves() {
			line.hangUp() // it was not there yet when the caller left
		}
		exit, err := x.follow(line)
		line.Close()
		if err == nil {
			return x.result(exit, recreated), x.writeErr
		}
		if given.Err() != nil && x.leaves() {
			return Result{ID: x.request.ID}, ctx.Err()
		}
		if given.Err() != nil {
			return x.lost("it did not end after it was interrupted", recreated), nil
		}
		var failure *wire.Failure
		if errors.As(err, &failure) {
			return Result{ID: x.request.ID}, x.cannot(idError(failure))
		}
		line, err = x.resume(given)
		switch {
		case errors.Is(err, ErrClosed):
			return Result{ID: x.request.ID}, ErrClosed
		case err != nil && given.Err() != nil && x.leaves():
			return Result{ID: x.request.ID}, ctx.Err()
		case err != nil:
			return x.lost("the sandbox ended while the command ran", recreated), nil
		}
		x.use(line)
	}
}

// resumeBound is how long a sandbox may be out of reach that is not known to have
// ended: a daemon that carries lines may be started again.
const resumeBound = 10 * time.Second

// resume finds the command by its id after its line broke. As long as the sandbox
// is there, a new line that breaks at once is no reason to give the command up.
func (x *execution) resume(ctx context.Context) (*stream, error) {
	const pause, longest = 20 * time.Millisecond, 200 * time.Millisecond
	for attempt, bound := 1, time.Now().Add(resumeBound); ; attempt++ {
		conn, err := x.box.reconnect(ctx)
		if err == nil {
			var line *stream
			if line, err = conn.openCommand(ctx, wire.TypeAttach, wire.Attach{ID: x.request.ID, Stdout: x.stdout, Stderr: x.stderr}); err == nil {
				return line, nil
			}
		}
		if errors.Is(err, ErrClosed) || errors.Is(err, ErrGone) || errors.Is(err, ErrNotFound) || time.Now().After(bound) {
			return nil, err
		}
		select {
		case <-time.After(min(time.Duration(attempt)*pause, longest)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// leaves says that the end of the caller's context is not that of the command.
func (x *execution) leaves() bool { return x.follows || x.command.Leave && x.command.Detached }

func (x *execution) cannot(err error) error {
	if x.follows {
		return fmt.Errorf("cannot follow the command: %w", err)
	}
	return fmt.Errorf("cannot run the command: %w", err)
}

// begin sends the request. A sandbox that ended before it got the request is
// made anew, because then nothing has started yet.
func (x *execution) begin(ctx context.Context) (*stream, bool, error) {
	if x.follows {
		line, err := x.find(ctx)
		if err != nil {
			return nil, false, x.cannot(err)
		}
		x.use(line)
		return line, false, nil
	}
	conn, recreated, err := x.box.connected(ctx)
	if err != nil {
		return nil, false, err
	}
	line, err := conn.openCommand(ctx, wire.TypeExec, x.request)
	if errors.Is(err, ErrGone) || errors.Is(err, ErrNotFound) {
		// It never had a line to go over; that the connection is dead too will
		// only be noticed in a moment.
		conn.close()
		if conn, recreated, err = x.box.connected(ctx); err != nil {
			return nil, false, err
		}
		line, err = conn.openCommand(ctx, wire.TypeExec, x.request)
	}
	if errors.Is(err, wire.ErrMessageTooLarge) {
		return nil, false, fmt.Errorf("cannot run a command: %w", err)
	}
	if err != nil {
		// Whether it arrived is not known, so it is repeated under its id to
		// the same guest, never to a new one.
		if conn, err = x.box.reconnect(ctx); err == nil {
			line, err = conn.openCommand(ctx, wire.TypeExec, x.request)
		}
		if err != nil {
			return nil, false, fmt.Errorf("cannot run the command: %w: %w (%w)", ErrGone, ErrMayHaveRun, err)
		}
	}
	x.use(line)
	return line, recreated, nil
}

func (x *execution) use(line *stream) {
	x.mu.Lock()
	if x.moved != nil {
		close(x.moved)
	}
	x.line, x.moved = line, make(chan struct{})
	x.mu.Unlock()
	if x.box.isClosed() {
		line.Close() // closed meanwhile, and this line was not there to be hung up
	}
}

// hangUp breaks the line of a hold, or of a caller, that is given up.
func (x *execution) hangUp() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.line != nil {
		x.line.hangUp()
	}
}

// follow copies output until the command ends or the line breaks.
func (x *execution) follow(line *stream) (wire.Exit, error) {
	var exit wire.Exit
	for {
		frame, err := line.Next()
		if err != nil {
			return exit, err
		}
		if err := frameError(frame); err != nil {
			return exit, err
		}
		switch frame.Type {
		case wire.TypeStarted:
			if err := x.begun(frame); err != nil {
				return exit, err
			}
		case wire.TypeStdout:
			x.stdout += int64(len(frame.Payload))
			x.write(x.command.Stdout, frame.Payload)
		case wire.TypeStderr:
			x.stderr += int64(len(frame.Payload))
			x.write(x.command.Stderr, frame.Payload)
		case wire.TypeGap:
			var gap wire.Gap
			if err := frame.Decode(&gap); err != nil {
				return exit, err
			}
			x.missed += gap.Bytes
			if x.command.Gap != nil {
				x.command.Gap(gap.Stderr, gap.Bytes)
			}
			if gap.Stderr {
				x.stderr += gap.Bytes
			} else {
				x.stdout += gap.Bytes
			}
		case wire.TypeExit:
			return exit, frame.Decode(&exit)
		}
	}
}

// begun tells the caller, once, that the sandbox has the command.
func (x *execution) begun(frame wire.Frame) error {
	var started wire.Started
	if err := frame.Decode(&started); err != nil {
		return err
	}
	if tell := x.command.Started; tell != nil {
		x.command.Started = nil
		tell(started.Known)
	}
	return nil
}

// write passes output on. A caller that no longer takes it, like a pipe that
// was closed, ends the command, unless it would go on without that caller.
func (x *execution) write(w io.Writer, p []byte) {
	if w == nil || x.writeErr != nil {
		return
	}
	if _, err := w.Write(p); err != nil {
		x.writeErr = fmt.Errorf("cannot pass on the command's output: %w", err)
		if !x.leaves() {
			go x.control(wire.Control{Interrupt: true})
		}
	}
}

// feed sends the input, frame by frame, and its end.
func (x *execution) feed(stop <-chan struct{}) {
	buf := make([]byte, 64<<10)
	for {
		n, err := x.command.Stdin.Read(buf)
		select {
		case <-stop:
			return
		default:
		}
		if n > 0 && !x.send(stop, wire.TypeStdin, buf[:n]) {
			return
		}
		if err != nil {
			x.send(stop, wire.TypeStdinEOF, nil)
			return
		}
	}
}

// send puts a frame on the line. A frame whose line broke has not arrived, or in
// part, which the guest drops: it goes to the line's successor.
func (x *execution) send(stop <-chan struct{}, t wire.Type, payload []byte) bool {
	for {
		x.mu.Lock()
		line, moved := x.line, x.moved
		x.mu.Unlock()
		if line.Write(t, payload) == nil {
			return true
		}
		select {
		case <-moved:
		case <-stop:
			return false
		}
	}
}

// interrupt ends the command, and gives up when that has no effect.
func (x *execution) interrupt(stop <-chan struct{}, giveUp func()) {
	bound := time.After(x.command.Grace + interruptBound)
	for {
		var failure *wire.Failure
		err := x.control(wire.Control{Interrupt: true})
		again := time.After(20 * time.Millisecond)
		if !errors.As(err, &failure) || failure.Code != wire.FailureUnknownID {
			again = nil // it arrived; before the command itself does, it cannot
		}
		select {
		case <-stop:
			return
		case <-again:
		case <-bound:
			giveUp()
			x.hangUp() // the line may be one of its own
			x.box.disconnect()
			return
		}
	}
}

// resize passes on the terminal's size.
func (x *execution) resize(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case size, ok := <-x.command.Terminal.Resized:
			if !ok {
				return
			}
			x.control(wire.Control{Size: &wire.Size{Rows: size.Rows, Cols: size.Cols}})
		}
	}
}

func (x *execution) control(c wire.Control) error {
	c.ID = x.request.ID
	conn := x.box.current()
	if conn == nil {
		return ErrGone
	}
	_, err := conn.ask(wire.TypeControl, c)
	return err
}

func (x *execution) lost(why string, recreated bool) Result {
	return x.result(wire.Exit{Code: -1, Reason: wire.ReasonLost, Message: why}, recreated)
}

func (x *execution) result(e wire.Exit, recreated bool) Result {
	r := publicResult(x.request.ID, e)
	r.Missed, r.Recreated = x.missed, recreated
	return r
}
