package profile

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/internal/rooted"
)

// A gateway cannot tell from a SIGTERM whether its owner stops it or its container goes away. Whoever stops it for its
// owner says so in this file beforehand.
const (
	stopMarker     = ".gateway-planned-stop.json"
	plannedStopTTL = 60 * time.Second
)

type plannedStop struct {
	PID int   `json:"pid"`
	At  int64 `json:"at"` // seconds since 1970
}

// PlanStop says that the gateway with this process id is about to be stopped by its owner.
func (h *Home) PlanStop(name string, pid int) error {
	content, err := json.Marshal(plannedStop{PID: pid, At: h.now().Unix()})
	if err != nil {
		return err
	}
	err = h.in(name, func(dir int) error {
		return atomicfile.Replace(filepath.Join(rooted.PathOf(dir), stopMarker), content, stateMode)
	})
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", filepath.Join(h.Dir(name), stopMarker), reason(err))
	}
	return nil
}

// StopPlanned tells the gateway with this process id, which was asked to end, whether its owner stops it, and takes
// the marker away. One for another process, or an old one, says nothing.
func (h *Home) StopPlanned(name string, pid int) bool {
	var m plannedStop
	err := h.in(name, func(dir int) error {
		content, _, err := read(dir, stopMarker)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(content, &m); err != nil || m.PID != pid {
			return err
		}
		return unix.Unlinkat(dir, stopMarker, 0)
	})
	age := h.now().Sub(time.Unix(m.At, 0))
	return err == nil && m.PID == pid && age > -plannedStopTTL && age < plannedStopTTL
}

// The files that a gateway leaves behind when it cannot clean up.
const (
	PIDFile       = "gateway.pid"
	processesFile = "processes.json"
)

// ClearStale removes what names processes of a machine that is gone, and says whether a gateway had left it: one that
// ends in order takes its own away.
func (h *Home) ClearStale(name string) (left bool, err error) {
	err = h.in(name, func(dir int) error {
		pidErr := unix.Unlinkat(dir, PIDFile, 0)
		left = pidErr == nil
		for file, err := range map[string]error{PIDFile: pidErr, processesFile: unix.Unlinkat(dir, processesFile, 0)} {
			if err != nil && !gone(err) {
				return fmt.Errorf("cannot remove %s: %w", filepath.Join(h.Dir(name), file), err)
			}
		}
		return nil
	})
	if gone(err) {
		return false, nil
	}
	return left, err
}
