package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/internal/wire"
)

// PruneReport says what Prune did.
type PruneReport struct {
	Removed []Identity `json:"removed"`
	// Leftovers counts traces of sandboxes that died half-made, and with all
	// also the files that removed ones had kept.
	Leftovers int `json:"leftovers"`
	// Kept are in use, or were used too recently.
	Kept []Identity `json:"kept"`
}

// Prune removes the home's sandboxes that nobody has used for the window, with
// what they kept only in memory. With all it removes every one, in use or not,
// with all files.
func (m *Manager) Prune(ctx context.Context, home string, all bool) (PruneReport, error) {
	var report PruneReport
	home = Identity{Home: home}.Normal().Home
	infos, err := m.engine.List(ctx, home)
	if err != nil {
		return report, err
	}
	var failures []error
	for _, info := range infos {
		if info.Foreign {
			continue
		}
		removed := all
		if all {
			err = m.Remove(ctx, info.Identity, true)
		} else {
			removed, err = m.reap(ctx, info)
		}
		switch {
		case err != nil:
			failures = append(failures, err)
		case removed:
			report.Removed = append(report.Removed, info.Identity)
		default:
			report.Kept = append(report.Kept, info.Identity)
		}
	}
	report.Leftovers, err = m.engine.Sweep(ctx, home)
	failures = append(failures, err)
	if all {
		if dir, err := rundir.Look(); err == nil { // which is not made for that
			os.Remove(stampIn(dir, home))
		}
		purged, err := m.purge(ctx, home)
		report.Leftovers += purged
		failures = append(failures, err)
	}
	return report, errors.Join(failures...)
}

// sweep reaps other sandboxes of the same home and profile.
func (m *Manager) sweep(ctx context.Context, opened Identity) {
	infos, err := m.listSoon(ctx, opened.Home)
	if err != nil {
		m.log.Warn("cannot look for unused sandboxes", "error", err)
		return
	}
	infos = slices.DeleteFunc(infos, func(i Info) bool { return i.Foreign || i.Identity == opened || i.Identity.Profile != opened.Profile })
	for _, info := range infos {
		removed, err := m.reap(ctx, info)
		if err != nil && ctx.Err() == nil {
			m.log.Warn("cannot reap a sandbox", "task", info.Identity.Task, "error", err)
		}
		if removed {
			m.log.Info("reaped an unused sandbox", "task", info.Identity.Task)
		}
	}
	if _, err := m.engine.Sweep(ctx, opened.Home); err != nil && ctx.Err() == nil {
		m.log.Warn("cannot clean up after dead sandboxes", "error", err)
	}
}

// listSoon lists what there is, unless that takes long: whoever is done waits for the sweep, and would wait for an
// engine that hangs.
func (m *Manager) listSoon(ctx context.Context, home string) ([]Info, error) {
	ctx, cancel := context.WithTimeout(ctx, listBound)
	defer cancel()
	return m.engine.List(ctx, home)
}

// reap removes a running sandbox if its lease is free and its time is over, and a
// stopped one that holds more than its files, which are its owner's.
func (m *Manager) reap(ctx context.Context, info Info) (bool, error) {
	if info.State == Paused || info.State == Stopped && !m.over(info) {
		return false, nil
	}
	lock, err := m.lock(ctx, info.Identity)
	if err != nil {
		return false, err
	}
	var unused bool
	if info.State == Running {
		unused, _, err = m.retire(ctx, info.Identity, wire.Retire{Idle: m.Window()}, nil)
	} else if info, err = m.engine.Find(ctx, info.Identity); err == nil { // it may have been started meanwhile
		unused = info.State == Stopped && m.over(info)
	}
	if unused && err == nil {
		err = m.engine.Remove(ctx, info.Identity, false)
	}
	lock.Release(unused && err == nil)
	return unused, err
}

// over says whether a stopped sandbox is known to have ended long enough ago.
func (m *Manager) over(info Info) bool {
	return !info.Ended.IsZero() && time.Since(info.Ended) >= m.Window()
}

// sweepStamp is a file whose age says when a home was last swept. Of many short
// processes one a minute does it.
func (m *Manager) sweepStamp(home string) string {
	dir, err := rundir.Find()
	if err != nil {
		return "" // never due
	}
	return stampIn(dir, home)
}

func stampIn(dir, home string) string { return filepath.Join(dir, digest(home)+".swept") }
