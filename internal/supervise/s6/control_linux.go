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

	"hermes.example/hermes/internal/supervise"
)

// Where s6-supervise and s6-svscan take their orders, one letter each.
const (
	controlFIFO = "supervise/control"
	scannerFIFO = ".s6-svscan/control"

	wantUp    = "u"
	wantDown  = "d"
	killNow   = "k"
	rescan    = "a"
	prune     = "an" // services are ended that are not in the directory any more, loggers when all was said
	pruneAll  = "aN" // loggers too
	noCommand = ""
)

// What s6's own tools end with.
const (
	exitNoSupervisor = 100
	exitSystem       = 111
)

// errNoReader is that nobody takes orders there.
var errNoReader = errors.New("nobody takes orders")

// order writes to a FIFO without ever waiting: whoever reads it is there or is not.
func order(fifo, commands string) error {
	fd, err := unix.Open(fifo, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err == unix.ENXIO || err == unix.ENOENT {
		return errNoReader
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: fifo, Err: err}
	}
	defer unix.Close(fd)
	if commands == noCommand {
		return nil
	}
	if _, err := unix.Write(fd, []byte(commands)); err != nil {
		return &os.PathError{Op: "write", Path: fifo, Err: err}
	}
	return nil
}

// tell orders something of a slot's supervisor.
func (d *Driver) tell(name, action, commands string) error {
	err := d.hand.Do(func() error { return order(filepath.Join(d.slot(name), controlFIFO), commands) })
	return controlError(name, action, err)
}

// scan orders something of the scanner.
func (d *Driver) scan(commands string) error {
	return d.hand.Do(func() error { return order(filepath.Join(d.options.ScanDir, scannerFIFO), commands) })
}

// controlError says a failure as s6-svc would have ended with it.
func controlError(name, action string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, errNoReader) {
		return &supervise.ControlError{Service: name, Action: action, Code: exitNoSupervisor, Stderr: "no s6-supervise looks after it"}
	}
	return &supervise.ControlError{Service: name, Action: action, Code: exitSystem, Stderr: err.Error()}
}

// supervised says whether somebody takes orders for a directory, or for its logger.
func supervised(dir string) bool {
	for _, sub := range []string{"", "log"} {
		if !errors.Is(order(filepath.Join(dir, sub, controlFIFO), noCommand), errNoReader) {
			return true
		}
	}
	return false
}

// read reads the status of a slot, and what its scripts noted.
func (d *Driver) read(name string) (r record, n notes, err error) {
	if !strings.HasPrefix(name, Prefix) || filepath.Base(name) != name {
		return r, n, supervise.ErrNotRegistered
	}
	dir := d.slot(name)
	err = d.hand.Do(func() error {
		if info, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return supervise.ErrNotRegistered
		} else if err != nil {
			return err
		}
		n = readNotes(dir)
		if err := order(filepath.Join(dir, controlFIFO), noCommand); err != nil {
			return err
		}
		content, err := small(filepath.Join(dir, "supervise/status"))
		if errors.Is(err, fs.ErrNotExist) {
			return errNoReader // not yet: the FIFO is opened first
		}
		if err != nil {
			return err
		}
		r, err = parseRecord([]byte(content))
		return err
	})
	return r, n, err
}

// await looks again and again until it is so, for at most as long as said.
func await(ctx context.Context, bound time.Duration, is func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, bound, fmt.Errorf("it did not come about within %v", bound))
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, longestPause) {
		if done, err := is(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

const longestPause = 20 * time.Millisecond
