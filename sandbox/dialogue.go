package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hermes.example/hermes/internal/wire"
)

// dialogue is a request that the guest may be asked again if the line breaks,
// because it answers the same, or goes on where it stopped.
type dialogue struct {
	box  *Sandbox
	what string // could not be done, if it fails
	kind wire.Type
	// request is made anew whenever it is sent.
	request func() any
	// recreated, if it is not nil, is set when the sandbox was made anew for this. Then that
	// may also be done when the request was sent and not answered: what it starts has an id,
	// and the next guest knows those of the last.
	recreated *bool
	// answer takes a frame of the answer and says whether it was the last.
	answer func(wire.Frame) (last bool, err error)
}

// How often a line that breaks before it brings anything is tried again.
const (
	dialogueAttempts = 10
	dialoguePause    = 20 * time.Millisecond
)

// run returns when the answer is complete, ctx is over or the guest is gone. A
// sandbox that ended before it is made anew, as for a command; one that ends
// meanwhile is not.
func (d dialogue) run(ctx context.Context) error {
	conn, err := d.connect(ctx)
	for attempt := 1; ; attempt++ {
		var line *stream
		if err == nil {
			line, err = d.open(ctx, conn)
		}
		first := attempt == 1 || attempt == 2 && d.recreated != nil
		if first && (errors.Is(err, ErrGone) || errors.Is(err, ErrNotFound)) {
			if conn != nil {
				conn.close() // it is dead, too, which would only be noticed in a moment
			}
			if conn, err = d.connect(ctx); err == nil {
				line, err = d.open(ctx, conn)
			}
		}
		if err == nil {
			var over, heard bool
			if over, heard, err = d.listen(ctx, line); over {
				return d.cannot(err)
			}
			if heard {
				attempt = 1
			}
		}
		switch {
		case ctx.Err() != nil:
			return d.cannot(ctx.Err())
		case slices.ContainsFunc(hopeless, func(target error) bool { return errors.Is(err, target) }), attempt == dialogueAttempts:
			return d.cannot(err)
		}
		select {
		case <-time.After(time.Duration(attempt) * dialoguePause):
		case <-ctx.Done():
		}
		conn, err = d.box.reconnect(ctx)
	}
}

// hopeless is what another attempt does not mend.
var hopeless = []error{ErrClosed, ErrGone, ErrNotFound, errUnsupported, wire.ErrMessageTooLarge}

func (d dialogue) connect(ctx context.Context) (*connection, error) {
	conn, recreated, err := d.box.connected(ctx)
	if recreated && d.recreated != nil {
		*d.recreated = true
	}
	return conn, err
}

func (d dialogue) cannot(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot %s: %w", d.what, processFailure(err))
}

func (d dialogue) open(ctx context.Context, conn *connection) (*stream, error) {
	if !conn.hello.Can(wire.CanProcesses) {
		return nil, errUnsupported
	}
	return conn.openCommand(ctx, d.kind, d.request())
}

// listen takes the answer. It says whether that is over, and whether anything of
// it came.
func (d dialogue) listen(ctx context.Context, line *stream) (over, heard bool, err error) {
	d.box.track(line, true)
	defer d.box.track(line, false)
	defer line.Close()
	defer context.AfterFunc(ctx, line.hangUp)()
	if d.box.isClosed() {
		return true, false, ErrClosed // before this line was there to be hung up
	}
	for {
		frame, err := line.NextMessage()
		if err != nil {
			return false, heard, err
		}
		if frame.Type == wire.TypeHello {
			continue
		}
		if err := frameError(frame); err != nil {
			return true, true, err
		}
		heard = true
		if last, err := d.answer(frame); last || err != nil {
			return true, true, err
		}
	}
}
