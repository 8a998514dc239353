package sandbox

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/internal/wire"
)

// Forker is an engine that can copy the files of a sandbox that does not run, at once
// and however many they are.
type Forker interface {
	// Fork makes sandboxes with the files of id and no processes. None of them
	// runs, nor does id.
	Fork(ctx context.Context, id Identity, copies []Identity) error
	// Original is whose fork a sandbox is; ErrNotFound means that it is none.
	Original(ctx context.Context, id Identity) (Identity, error)
	// Changes lists what a sandbox has changed since it was forked or made.
	Changes(ctx context.Context, id Identity) ([]Change, error)
	// Commit makes paths that a fork has changed its original's, which does not run.
	Commit(ctx context.Context, fork, original Identity, paths []string) error
	// Remembered is the spec that a sandbox with files comes back with, without
	// the values of its variables; ErrNotFound means that there is none.
	Remembered(ctx context.Context, id Identity) (Spec, error)
}

// Change is one path that a sandbox has changed.
type Change struct {
	Path string     `json:"path"`
	Kind ChangeKind `json:"kind"`
}

// ChangeKind says what became of a path.
type ChangeKind string

// The kinds.
const (
	Added    ChangeKind = "added"
	Modified ChangeKind = "modified"
	Deleted  ChangeKind = "deleted"
)

// BusyError means that something runs in a sandbox that must be idle.
type BusyError struct {
	Task                string
	Commands, Processes int
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("the sandbox %q is in use (commands: %d, processes: %d): wait until it is idle, or end them", e.Task, e.Commands, e.Processes)
}

var errNoForks = errors.New("this engine cannot fork sandboxes")

func (m *Manager) forker() (Forker, error) {
	if f, ok := m.engine.(Forker); ok {
		return f, nil
	}
	return nil, errNoForks
}

// Fork copies an idle sandbox: its files and its sessions, not its processes. The
// original is ended for it. Where there are sessions it is started again at once and
// goes on with them, and each copy is started with copies of them, because sessions
// live in guests only; otherwise all are started by their next use.
func (m *Manager) Fork(ctx context.Context, id Identity, copies []Identity) (Carried, error) {
	f, err := m.forker()
	if err != nil {
		return Carried{}, err
	}
	id = id.Normal()
	all := []Identity{id}
	for _, c := range copies {
		if err := c.Validate(); err != nil {
			return Carried{}, fmt.Errorf("cannot fork: %w", err)
		}
		if c = c.Normal(); slices.Contains(all, c) || c.Home != id.Home {
			return Carried{}, fmt.Errorf("cannot fork %q to %q: a copy needs a name of its own in the same home", id.Task, c.Task)
		}
		all = append(all, c)
	}
	unlock, err := m.lockAll(ctx, all)
	if err != nil {
		return Carried{}, err
	}
	defer unlock()
	for _, c := range all[1:] {
		if _, err := m.engine.Find(ctx, c); !errors.Is(err, ErrNotFound) {
			return Carried{}, fmt.Errorf("cannot fork to %q: %w", c.Task, errors.Join(err, ErrExists))
		}
	}
	parked, err := m.park(ctx, id)
	if err != nil {
		return Carried{}, fmt.Errorf("cannot fork: %w", err)
	}
	if err := f.Fork(ctx, id, all[1:]); err != nil {
		return m.resume(ctx, parked, id), err
	}
	return m.resume(ctx, parked, id, all[1:]...), nil
}

// lockAll takes the locks of several identities, in one order for everybody.
func (m *Manager) lockAll(ctx context.Context, ids []Identity) (unlock func(), err error) {
	var held []*rundir.Lock
	unlock = func() {
		for _, lock := range held {
			lock.Release(true)
		}
	}
	sorted := slices.SortedFunc(slices.Values(ids), func(a, b Identity) int { return strings.Compare(a.Key(), b.Key()) })
	for _, id := range sorted {
		lock, err := m.lock(ctx, id)
		if err != nil {
			unlock()
			return nil, err
		}
		held = append(held, lock)
	}
	return unlock, nil
}

// parked is a sandbox that was ended for its files to be worked on, and what it left.
type parked struct {
	info Info
	left legacy
}

// park ends an idle sandbox whose files are to be worked on. Open holds do not count:
// they find it again at their next command.
func (m *Manager) park(ctx context.Context, id Identity) (parked, error) {
	info, err := m.engine.Find(ctx, id)
	if errors.Is(err, ErrNotFound) || err == nil && info.State == Stopped {
		return parked{}, nil
	}
	if err != nil {
		return parked{}, err
	}
	if info.Spec.Ephemeral {
		return parked{}, fmt.Errorf("the sandbox %q is ephemeral and keeps no files", id.Task)
	}
	p := parked{info: info}
	retired, st, err := m.retire(ctx, id, wire.Retire{Held: true}, &p.left)
	if err != nil {
		return p, err
	}
	if !retired {
		return p, &BusyError{id.Task, st.Commands, st.Processes}
	}
	return p, m.engine.Remove(ctx, id, false)
}

// Original is whose fork a sandbox is, or ErrNotFound.
func (m *Manager) Original(ctx context.Context, id Identity) (Identity, error) {
	f, err := m.forker()
	if err != nil {
		return Identity{}, err
	}
	return f.Original(ctx, id.Normal())
}

// Changes lists what a sandbox has changed since it was forked, or else since it was
// made of its image.
func (m *Manager) Changes(ctx context.Context, id Identity) ([]Change, error) {
	f, err := m.forker()
	if err != nil {
		return nil, err
	}
	return f.Changes(ctx, id.Normal())
}

// Remembered is the spec with which a sandbox that does not run comes back, or
// ErrNotFound. The values of variables were not kept.
func (m *Manager) Remembered(ctx context.Context, id Identity) (Spec, error) {
	f, err := m.forker()
	if err != nil {
		return Spec{}, ErrNotFound
	}
	return f.Remembered(ctx, id.Normal())
}

// Commit makes what a fork has changed its original's: each of the given paths, and
// all changes below one. It returns what it changed. The original must be idle and is
// ended for it, as for a fork; nothing may run in the fork.
func (m *Manager) Commit(ctx context.Context, fork Identity, paths []string) ([]Change, error) {
	f, err := m.forker()
	if err != nil {
		return nil, err
	}
	fork = fork.Normal()
	original, err := f.Original(ctx, fork)
	if err != nil {
		return nil, err
	}
	unlock, err := m.lockAll(ctx, []Identity{fork, original})
	if err != nil {
		return nil, err
	}
	defer unlock()
	if st, err := m.StatusOf(ctx, fork); err == nil && (st.Commands > 0 || st.Processes > 0) {
		return nil, &BusyError{fork.Task, st.Commands, st.Processes}
	}
	all, err := f.Changes(ctx, fork)
	if err != nil {
		return nil, err
	}
	chosen, err := choose(all, paths)
	if err != nil {
		return nil, err
	}
	parked, err := m.park(ctx, original)
	if err != nil {
		return nil, err
	}
	defer func() {
		if carried := m.resume(ctx, parked, original); carried.Lost != "" {
			m.log.Warn("sessions begin anew after a commit", "task", original.Task, "because", carried.Lost)
		}
	}()
	names := make([]string, len(chosen))
	for i, c := range chosen {
		names[i] = c.Path
	}
	return chosen, f.Commit(ctx, fork, original, names)
}

// choose returns the changes at and below the paths. Each path must have some.
func choose(all []Change, paths []string) ([]Change, error) {
	var chosen []Change
	for _, p := range paths {
		p = path.Clean("/" + p)
		found := false
		for _, c := range all {
			if c.Path == p || p == "/" || strings.HasPrefix(c.Path, p+"/") {
				found = true
				if !slices.Contains(chosen, c) {
					chosen = append(chosen, c)
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("nothing has changed at %s", p)
		}
	}
	return chosen, nil
}
