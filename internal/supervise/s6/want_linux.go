package s6

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hermes.example/hermes/internal/supervise"
)

// Status is what s6 and the slot's scripts say.
func (d *Driver) Status(_ context.Context, name string) (supervise.Status, error) {
	r, n, err := d.read(name)
	switch {
	case errors.Is(err, supervise.ErrNotRegistered):
		return supervise.Status{}, err
	case errors.Is(err, errNoReader):
		return idle(name, n), nil
	case err != nil:
		return supervise.Status{}, controlError(name, "look at", err)
	}
	return status(name, r, n), nil
}

// idle is the status of a slot that no supervisor has yet, or has any more.
func idle(name string, n notes) supervise.Status {
	st := supervise.Status{Name: name, Want: "up", State: supervise.Down, Reason: "no s6-supervise looks after it"}
	if n.down {
		st.Want = "down"
	}
	return st
}

// status puts s6's states into the words of all drivers.
func status(name string, r record, n notes) supervise.Status {
	st := supervise.Status{Name: name, Want: "down", Since: r.changed, Restarts: max(0, n.ended-1)}
	if r.wantUp {
		st.Want, st.Restarts = "up", n.ended
	}
	if n.ended > 0 || r.finishing {
		st.Last = r.exit(n.endedAt)
	}
	switch {
	case r.wantUp && !r.runs() && !n.pausing:
		st.State = supervise.Starting
	case r.wantUp && n.pausing:
		st.State, st.Next = supervise.Backoff, n.until
		if st.Last != nil {
			st.Reason = fmt.Sprintf("it ended with status %d", st.Last.Code)
		}
	case r.runs() && !r.wantUp:
		st.State, st.PID = supervise.Halting, r.pid
	case r.runs() && n.notifies && !r.ready:
		st.State, st.PID = supervise.Up, r.pid
	case r.runs():
		st.State, st.PID = supervise.Ready, r.pid
	case r.finishing:
		st.State = supervise.Halting
	case n.parked != "":
		st.State, st.Reason = supervise.Parked, n.parked
	default:
		st.State = supervise.Down
	}
	return st
}

// known is the status of a slot that somebody looks after.
func (d *Driver) known(name, action string) (record, notes, error) {
	r, n, err := d.read(name)
	if errors.Is(err, supervise.ErrNotRegistered) {
		return r, n, fmt.Errorf("cannot %s %s: %w", action, name, err)
	}
	return r, n, controlError(name, action, err)
}

// Start wants a service up. One that waits after a failure, or is parked, is started at once.
func (d *Driver) Start(ctx context.Context, name string) error {
	r, n, err := d.known(name, "start")
	if err != nil {
		return err
	}
	if r.runs() && n.pausing {
		return d.Restart(ctx, name)
	}
	return d.up(ctx, name, "start")
}

// up wants a service up, once finish is through: what s6 is told before, it forgets when finish says that the
// service is to stay down.
func (d *Driver) up(ctx context.Context, name, action string) error {
	var before, after record
	err := await(ctx, controlBound, func() (_ bool, err error) {
		before, _, err = d.known(name, action)
		return !before.finishing, err
	})
	if err != nil {
		return failed(name, action, err)
	}
	if err := d.note(name, !before.runs()); err != nil {
		return controlError(name, action, err)
	}
	if err := d.tell(name, action, wantUp); err != nil {
		return err
	}
	err = await(ctx, controlBound, func() (_ bool, err error) {
		after, _, err = d.known(name, action)
		return after.wantUp || after != before, err
	})
	return failed(name, action, err)
}

// note writes down that a service is wanted up, for a supervisor that has to begin anew, and that it has no past.
func (d *Driver) note(name string, afresh bool) error {
	return d.hand.Do(func() error {
		over := []string{"down"}
		if afresh {
			over = append(over, passing...)
		}
		for _, file := range over {
			if err := os.RemoveAll(filepath.Join(d.slot(name), file)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Stop wants a service down.
func (d *Driver) Stop(_ context.Context, name string) error {
	if _, _, err := d.known(name, "stop"); err != nil {
		return err
	}
	err := d.hand.Do(func() error {
		dir := d.slot(name)
		if err := os.RemoveAll(filepath.Join(dir, "data/parked")); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "down"), nil, 0o644)
	})
	if err != nil {
		return controlError(name, "stop", err)
	}
	return d.tell(name, "stop", wantDown)
}

// Restart ends the process and waits for that. It leaves a word for finish that this was asked for, so that s6 brings
// the service back at once however it ended.
func (d *Driver) Restart(ctx context.Context, name string) error {
	before, _, err := d.known(name, "restart")
	if err != nil {
		return err
	}
	if !before.runs() {
		return d.up(ctx, name, "restart")
	}
	if err := d.note(name, true); err != nil {
		return controlError(name, "restart", err)
	}
	err = d.hand.Do(func() error { return os.WriteFile(filepath.Join(d.slot(name), "data/asked"), nil, 0o644) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a slot of somebody else's making has no data, and no such finish
		return controlError(name, "restart", err)
	}
	if err := d.tell(name, "restart", wantDown+wantUp); err != nil {
		return err
	}
	ended := func() (bool, error) {
		after, _, err := d.known(name, "restart")
		return !after.finishing && after.pid != before.pid, err
	}
	if err = await(ctx, downBound, ended); err != nil && ctx.Err() == nil {
		if err = d.tell(name, "restart", killNow); err == nil {
			err = await(ctx, hardBound-downBound, ended)
		}
	}
	return failed(name, "restart", err)
}

// failed is an error that says what of it failed, once.
func failed(name, action string, err error) error {
	var control *supervise.ControlError
	if err == nil || errors.As(err, &control) || errors.Is(err, supervise.ErrNotRegistered) {
		return err
	}
	return fmt.Errorf("cannot %s %s: %w", action, name, err)
}
