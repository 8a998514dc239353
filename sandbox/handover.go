package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"hermes.example/hermes/internal/wire"
)

// Carried says what became of the sessions of a sandbox that was ended to be made
// anew.
type Carried struct {
	// Sessions go on where they were.
	Sessions []string `json:"sessions,omitempty"`
	// Lost says in one line why others begin anew; empty if none do.
	Lost string `json:"lost,omitempty"`
}

// legacy is what a guest that ended has left to the one in its place: its sessions.
// They are in this process's memory on their way and nowhere else, so whoever ends a
// guest to replace it also starts the next one.
type legacy struct {
	sessions []wire.Handed
	size     int
	lost     error // why there are not all
}

var (
	errTooOld   = errors.New("its guest is too old to hand its sessions over")
	errTooLarge = fmt.Errorf("they are more than %d or %d bytes", wire.MaxHanded, wire.MaxHandedBytes)
)

func (l legacy) empty() bool { return len(l.sessions) == 0 && l.lost == nil }

func (l *legacy) lose(why error) { l.lost = cmp.Or(l.lost, why) }

// drop leaves the sessions behind.
func (l *legacy) drop(why error) {
	if len(l.sessions) > 0 {
		l.sessions, l.lost = nil, why
	}
}

// take adds a session that a guest has sent, which may send anything.
func (l *legacy) take(f wire.Frame) {
	var h wire.Handed
	l.size += len(f.Payload)
	switch err := f.Decode(&h); {
	case err != nil:
		l.lose(err)
	case len(l.sessions) >= wire.MaxHanded || l.size > wire.MaxHandedBytes:
		l.lose(errTooLarge)
	case h.Lost != "":
		l.lose(fmt.Errorf("session %q: %s", h.Name, h.Lost))
	default:
		l.sessions = append(l.sessions, h)
	}
}

// succeed makes a sandbox that goes on with the sessions of an earlier one. The error
// is the sandbox's; what became of the sessions is none.
func (m *Manager) succeed(ctx context.Context, id Identity, spec Spec, left legacy) (Carried, error) {
	spec.Successor = len(left.sessions) > 0
	if _, err := m.engine.Create(ctx, id, spec); err != nil {
		left.drop(err)
		return left.carried(wire.Inherited{}), err
	}
	if !spec.Successor {
		return left.carried(wire.Inherited{}), nil
	}
	taken, err := m.bequeath(ctx, id, left.sessions)
	if err != nil {
		left.lose(err)
	}
	return left.carried(taken), nil
}

func (l legacy) carried(taken wire.Inherited) Carried {
	c := Carried{Sessions: slices.Sorted(slices.Values(taken.Sessions)), Lost: taken.Lost}
	if l.lost != nil {
		c.Lost = l.lost.Error()
	}
	return c
}

// bequeath gives sessions to the guest that begins with them.
func (m *Manager) bequeath(ctx context.Context, id Identity, sessions []wire.Handed) (taken wire.Inherited, err error) {
	conn, err := dial(ctx, m.engine, id, true)
	if err != nil {
		return taken, err
	}
	defer conn.close()
	defer context.AfterFunc(ctx, func() { conn.close() })()
	giveUp := time.AfterFunc(answerBound, func() { conn.close() })
	defer giveUp.Stop()
	s, err := conn.open(wire.TypeInherit, struct{}{})
	if err != nil {
		return taken, err
	}
	for _, h := range sessions {
		if err := s.WriteMessage(wire.TypeHanded, h); err != nil {
			return taken, err
		}
	}
	if err := s.Write(wire.TypeOK, nil); err != nil {
		return taken, err
	}
	frame, err := s.NextMessage()
	if err == nil {
		err = frameError(frame)
	}
	if err != nil {
		return taken, err
	}
	err = frame.Decode(&taken)
	return taken, err
}

// resume brings sandboxes back that go on with the sessions of a parked one: itself,
// and copies of it. Without sessions they come back at their next use. The parked one
// comes back also when the caller has given up: it has other users.
func (m *Manager) resume(ctx context.Context, p parked, itself Identity, copies ...Identity) Carried {
	spec, err := p.spec()
	if err != nil {
		p.left.drop(err)
	}
	if len(p.left.sessions) == 0 {
		return p.left.carried(wire.Inherited{})
	}
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeBound)
	defer cancel()
	all, err := m.succeed(detached, itself, spec, p.left)
	for _, id := range copies {
		c, failed := m.succeed(ctx, id, spec, p.left)
		all.Lost, err = cmp.Or(all.Lost, c.Lost), cmp.Or(err, failed)
	}
	if err != nil {
		all.Lost = err.Error()
	}
	return all
}

// spec is what the parked sandbox was made as. Its engine does not know the values of
// the variables; its sessions do.
func (p parked) spec() (Spec, error) {
	spec := p.info.Spec
	if len(spec.Env) > 0 && len(p.left.sessions) > 0 {
		spec.Env = maps.Clone(spec.Env)
		for name := range spec.Env {
			spec.Env[name] = p.left.sessions[0].PlainEnv[name]
		}
	}
	if len(p.left.sessions) > 0 && spec.Hash() != p.info.SpecHash {
		return spec, errors.New("what the sandbox was made as is no longer known")
	}
	return spec, nil
}
