// Package s6 keeps services by s6, in an image that brings it: every service is a slot in a scan directory, and
// s6-svscan and s6-supervise do the work. It does with files what s6's tools do, and starts none of them.
//
// The roster uses it in the command line, as the service user or as root with that user's rights. It never does
// anything with the rights of root: whatever lies in a scan directory is the user's.
//
// What s6 cannot do is not there: a service is ready when it says so by its descriptor, or else when it runs;
// its health is not looked at; of what it leaves behind only its process group is ended.
package s6

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/asuser"
	"hermes.example/hermes/internal/supervise"
)

// DefaultScanDir is where the image has its scan directory.
const DefaultScanDir = "/run/service"

// How long things may take.
const (
	controlBound = 5 * time.Second  // a supervisor that appears, or does what it was told
	downBound    = 10 * time.Second // a service that was asked to end, until it is killed
	hardBound    = 15 * time.Second // the same, until it is given up
	loggerBound  = 2 * time.Second  // a logger that waits for the end of what is said, until it is ended too
)

// Options are where the slots are, and whose.
type Options struct {
	// ScanDir is the scan directory: DefaultScanDir if empty.
	ScanDir string
	// User is whose it is. Root must say so; anybody else has no rights but its own.
	User *supervise.User
}

// Driver is a roster.Driver by s6. It is made by New and lives until Close; it keeps nothing in memory, so any
// number of processes can have one for the same scan directory.
type Driver struct {
	options Options
	hand    *asuser.Hand
}

// New makes a driver. The scan directory need not be there yet.
func New(o Options) (*Driver, error) {
	if o.ScanDir == "" {
		o.ScanDir = DefaultScanDir
	}
	d := &Driver{options: o}
	if os.Geteuid() != 0 {
		return d, nil
	}
	if o.User == nil || o.User.UID == 0 {
		return nil, errors.New("cannot use s6 as root: what is in its scan directory must be an ordinary user's; say whose")
	}
	hand, err := asuser.New(asuser.User{UID: o.User.UID, GID: o.User.GID, Groups: o.User.Groups})
	if err != nil {
		return nil, err
	}
	d.hand = hand
	return d, nil
}

// Close ends what New began.
func (d *Driver) Close() { d.hand.Close() }

func (d *Driver) slot(name string) string { return filepath.Join(d.options.ScanDir, name) }

func (d *Driver) beside(name, suffix string) string {
	return filepath.Join(d.options.ScanDir, "."+name+suffix)
}

// Register publishes a slot and returns when s6 looks after it.
func (d *Driver) Register(ctx context.Context, s supervise.Service, up bool) error {
	if err := d.publish(ctx, s, up); err != nil {
		return err
	}
	err := await(ctx, controlBound, func() (bool, error) { return d.lookedAfter(s.Name) })
	if err == nil {
		return nil
	}
	if undo := d.Unregister(context.WithoutCancel(ctx), s.Name); undo != nil {
		err = errors.Join(err, undo)
	}
	return fmt.Errorf("cannot register %s: s6-svscan on %s does not take it up: %w", s.Name, d.options.ScanDir, err)
}

// Replace publishes a slot in the place of one that may be there. A scanner that does not run yet finds it later.
func (d *Driver) Replace(ctx context.Context, s supervise.Service, up bool) error {
	if err := check(s); err != nil {
		return err
	}
	if err := d.Unregister(ctx, s.Name); err != nil {
		return err
	}
	if !d.scanned() {
		return d.publish(ctx, s, up)
	}
	return d.Register(ctx, s, up)
}

// publish builds a slot out of sight and puts it in its place at once.
func (d *Driver) publish(ctx context.Context, s supervise.Service, up bool) error {
	if err := check(s); err != nil {
		return err
	}
	if err := d.same(s); err != nil {
		return fmt.Errorf("cannot register %s: %w", s.Name, err)
	}
	if err := d.remove(ctx, s.Name); err != nil { // somebody who was taking it away did not get to the end
		return err
	}
	tmp := d.beside(s.Name, staged)
	return d.locked(ctx, func() error {
		if _, err := os.Lstat(d.slot(s.Name)); err == nil {
			return fmt.Errorf("cannot register %s: %w", s.Name, supervise.ErrRegistered)
		}
		err := os.RemoveAll(tmp)
		if err == nil {
			err = build(tmp, s, up)
		}
		if err == nil {
			err = os.Rename(tmp, d.slot(s.Name))
		}
		if err != nil {
			os.RemoveAll(tmp)
			return fmt.Errorf("cannot register %s: %w", s.Name, err)
		}
		return nil
	})
}

// same sees to it that service, scanner and slots have one user: a scanner of root's would run as root what that
// user can write.
func (d *Driver) same(s supervise.Service) error {
	uid := os.Geteuid()
	if uid == 0 {
		uid = d.options.User.UID
	}
	if s.User != nil && s.User.UID != uid {
		return fmt.Errorf("it is to run as user %d, and what is in %s runs as %d", s.User.UID, d.options.ScanDir, uid)
	}
	var st unix.Stat_t
	dir := filepath.Join(d.options.ScanDir, filepath.Dir(scannerFIFO))
	err := d.hand.Do(func() error { return unix.Lstat(dir, &st) })
	if err == nil && int(st.Uid) != uid {
		return fmt.Errorf("the s6-svscan on %s is user %d's, and would run as that one what user %d can write; give user %d a scanner of its own",
			d.options.ScanDir, st.Uid, uid, uid)
	}
	return nil
}

// lookedAfter asks for a scan and says whether there is a supervisor that has written a status.
func (d *Driver) lookedAfter(name string) (bool, error) {
	if _, _, err := d.read(name); err == nil {
		return true, nil
	} else if errors.Is(err, fs.ErrPermission) {
		return false, err // it is somebody else's supervisor
	}
	return false, d.scan(rescan)
}

// scanned says whether a scanner runs.
func (d *Driver) scanned() bool { return d.scan(noCommand) == nil }

// Unregister ends a service, then those who look after it, and then removes its slot.
func (d *Driver) Unregister(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := d.remove(ctx, name); err != nil { // one that somebody began to take away
		return err
	}
	if err := d.end(ctx, name); err != nil {
		return err
	}
	err := d.locked(ctx, func() error { return os.Rename(d.slot(name), d.beside(name, gone)) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot unregister %s: %w", name, err)
	}
	return d.remove(ctx, name)
}

// end waits until a service is down and its finish is through.
func (d *Driver) end(ctx context.Context, name string) error {
	var control *supervise.ControlError
	if err := d.tell(name, "stop", wantDown); errors.As(err, &control) && control.Code == exitNoSupervisor {
		return nil
	} else if err != nil {
		return err
	}
	down := func() (bool, error) {
		r, _, err := d.read(name)
		return err != nil || r.settled(), nil
	}
	err := await(ctx, downBound, down)
	if err != nil && ctx.Err() == nil {
		if err = d.tell(name, "kill", killNow); err == nil {
			err = await(ctx, hardBound-downBound, down)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot end %s: %w", name, err)
	}
	return nil
}

// remove deletes a slot that was moved out of the scanner's sight, once nobody looks after it any more: to a scanner
// that knows slots by their names, a new one with its name would otherwise be the old one still.
func (d *Driver) remove(ctx context.Context, name string) error {
	dir := d.beside(name, gone)
	var there bool
	d.hand.Do(func() error { _, err := os.Lstat(dir); there = err == nil; return nil })
	if !there {
		return nil
	}
	err := d.removeAfter(ctx, dir, prune)
	if err != nil && ctx.Err() == nil { // something that the service left behind keeps its logger
		err = d.removeAfter(ctx, dir, pruneAll)
	}
	if err != nil {
		return fmt.Errorf("cannot unregister %s: %w", name, err)
	}
	return nil
}

// removeAfter gives an order to the scanner and deletes a slot once that has been obeyed.
func (d *Driver) removeAfter(ctx context.Context, dir, commands string) error {
	if err := d.scan(commands); err != nil && !errors.Is(err, errNoReader) {
		return err
	}
	return await(ctx, loggerBound, func() (removed bool, err error) {
		err = d.locked(ctx, func() error {
			if supervised(dir) {
				return nil
			}
			removed = true
			return os.RemoveAll(dir)
		})
		return removed, err
	})
}

// locked does what must not be done by two at once, in this process or another.
func (d *Driver) locked(ctx context.Context, do func() error) error {
	return await(ctx, controlBound, func() (done bool, err error) {
		err = d.hand.Do(func() error {
			fd, err := unix.Open(d.options.ScanDir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return &os.PathError{Op: "open", Path: d.options.ScanDir, Err: err}
			}
			defer unix.Close(fd)
			if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err == unix.EWOULDBLOCK {
				return nil
			} else if err != nil {
				return &os.PathError{Op: "flock", Path: d.options.ScanDir, Err: err}
			}
			done = true
			return do()
		})
		return done, err
	})
}

// List is the slots that are there, in the order of a directory's listing: by name.
func (d *Driver) List(ctx context.Context) ([]supervise.Status, error) {
	var entries []fs.DirEntry
	err := d.hand.Do(func() (err error) { entries, err = os.ReadDir(d.options.ScanDir); return err })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list the slots: %w", err)
	}
	var list []supervise.Status
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), Prefix) {
			continue
		}
		if st, err := d.Status(ctx, e.Name()); err == nil {
			list = append(list, st)
		} else if !errors.Is(err, supervise.ErrNotRegistered) {
			list = append(list, supervise.Status{Name: e.Name(), State: supervise.Down, Want: "down", Reason: err.Error()})
		}
	}
	return list, nil
}
