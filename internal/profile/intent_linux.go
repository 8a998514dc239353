package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/internal/rooted"
)

// State reads what a profile's state file says. Without one it is the zero value. One that cannot be understood is
// the zero value too, with the reason as a warning: it must not keep anybody from going on.
func (h *Home) State(name string) (s State, warning error) {
	err := h.in(name, func(dir int) error {
		f, _, err := load(dir)
		if f != nil {
			s = f.state()
		}
		return err
	})
	if gone(err) {
		return State{}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("cannot use %s: %w", filepath.Join(h.Dir(name), StateFile), err)
	}
	return s, nil
}

// SetDesired writes down what the owner wants of a profile's gateway: Running or Stopped.
func (h *Home) SetDesired(name, desired string) error {
	return h.Record(name, map[string]any{keyDesired: desired})
}

// Record changes keys of a profile's state file and the time in it, and keeps the other keys. A file that cannot be
// understood is begun anew. A profile whose directory is not there has nothing to write down.
//
// Writers take turns. One that never ends its turn is passed over after a while: what was wanted matters more than
// what that one may be writing.
func (h *Home) Record(name string, changes map[string]any) error {
	added := make(fields, len(changes))
	for key, value := range changes {
		raw, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("cannot write down %s: %w", key, err)
		}
		added[key] = raw
	}
	for patience := turns; ; patience-- {
		err := h.in(name, func(dir int) error {
			if !takeTurn(dir) && patience > 0 {
				return errBusy
			}
			return h.change(dir, added) // the turn ends when dir is closed
		})
		switch {
		case err == errBusy:
			time.Sleep(turn)
		case gone(err):
			return nil
		case err != nil:
			return fmt.Errorf("cannot write %s: %w", filepath.Join(h.Dir(name), StateFile), reason(err))
		default:
			return nil
		}
	}
}

// A writer waits this often, this long each time: two seconds in all. It waits between its uses of the Hand, which
// others need too.
const (
	turns = 400
	turn  = 5 * time.Millisecond
)

var errBusy = errors.New("another process writes it")

// takeTurn locks an open directory against other writers. There is no lock file to be left behind. A file system
// that cannot lock has no turns.
func takeTurn(dir int) bool {
	for {
		err := unix.Flock(dir, unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EINTR {
			return err != unix.EWOULDBLOCK
		}
	}
}

// Turn waits until no other process is at what profiles share, such as their ports, and returns what ends the turn.
// Here, too, one that never ends its own is passed over.
func (h *Home) Turn() (end func()) {
	for patience := turns; patience > 0; patience-- {
		held := -1
		err := h.below(directory, func(dir int) (err error) {
			if !takeTurn(dir) {
				return errBusy
			}
			held, err = unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 0)
			return err
		})
		switch {
		case err == nil:
			return func() { unix.Close(held) }
		case err != errBusy:
			return func() {} // there are no profiles to take turns with
		}
		time.Sleep(turn)
	}
	return func() {}
}

// stateMode is that of a state file that is new.
const stateMode os.FileMode = 0o644

func (h *Home) change(dir int, added fields) error {
	f, mode, err := load(dir)
	if err != nil {
		f, mode = fields{}, stateMode
	}
	maps.Copy(f, added)
	f[keyUpdated] = json.RawMessage(fmt.Sprint(h.now().Unix()))
	content, err := f.bytes()
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(rooted.PathOf(dir), StateFile), content, mode)
}

func load(dir int) (fields, os.FileMode, error) {
	content, mode, err := read(dir, StateFile)
	if err != nil {
		return nil, 0, err
	}
	f, err := parse(content)
	return f, mode, err
}

// Adopt writes down that a profile's gateway, which ran before anybody wrote such things down, is to run.
func (h *Home) Adopt(name string) error {
	return h.Record(name, map[string]any{keyDesired: Running, keyGateway: Running, keyOrigin: "foreground-gateway"})
}
