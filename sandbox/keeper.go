package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Keeper is an engine whose removed sandboxes leave their files behind until
// somebody removes those, too.
type Keeper interface {
	// Keeps says whether anything is left of an identity's sandbox.
	Keeps(ctx context.Context, id Identity) (bool, error)
	// Purge removes what is left of all sandboxes of a home that no longer
	// exist, and returns of how many.
	Purge(ctx context.Context, home string) (int, error)
}

// Keeps says whether there are files of a sandbox, be it still there or removed.
func (m *Manager) Keeps(ctx context.Context, id Identity) (bool, error) {
	if k, ok := m.engine.(Keeper); ok {
		return k.Keeps(ctx, id.Normal())
	}
	return false, nil
}

// purge removes the last traces of a home's sandboxes.
func (m *Manager) purge(ctx context.Context, home string) (int, error) {
	if k, ok := m.engine.(Keeper); ok {
		return k.Purge(ctx, home)
	}
	return 0, nil
}

// Rememberer is an engine whose Find may tell what it remembers.
type Rememberer interface {
	// Ask is a Find that remembers nothing, and that what follows is held to. Who ends a
	// sandbox to make it anew asks first whether anybody is there to make it.
	Ask(ctx context.Context, id Identity) (Info, error)
}

// Host is an engine in which others have something that is named like a sandbox.
type Host interface {
	// RemoveForeign removes what List calls foreign and has the name of the identity.
	// It says whether there was any, and removes nothing where it is not clear which
	// is meant.
	RemoveForeign(ctx context.Context, id Identity) (bool, error)
}

// RemoveForeign removes what the Hermes agent made under an identity's name, if the
// identity has no sandbox, and says whether there was any.
func (m *Manager) RemoveForeign(ctx context.Context, id Identity) (bool, error) {
	host, ok := m.engine.(Host)
	if !ok {
		return false, nil
	}
	if _, err := m.engine.Find(ctx, id.Normal()); !errors.Is(err, ErrNotFound) {
		return false, err // it is the sandbox that has the name
	}
	removed, err := host.RemoveForeign(ctx, id.Normal())
	if err != nil {
		err = fmt.Errorf("cannot remove %q: %w", id.Task, err)
	}
	return removed, err
}

// answerBound is how long a guest may take to answer one who only looks.
const answerBound = 5 * time.Second

// SessionOf asks a sandbox for the state of a session without holding a lease.
func (m *Manager) SessionOf(ctx context.Context, id Identity, name string) (SessionState, error) {
	return m.session(ctx, id, name, false)
}

// ForgetSession has a sandbox forget a session: the next command under its name begins a new one. Who makes a session for
// a caller that will not come back forgets it, or it stays as long as the sandbox. It holds no lease, and a sandbox that
// does not run is left so.
func (m *Manager) ForgetSession(ctx context.Context, id Identity, name string) error {
	_, err := m.session(ctx, id, name, true)
	return err
}

func (m *Manager) session(ctx context.Context, id Identity, name string, forget bool) (SessionState, error) {
	ctx, cancel := context.WithTimeout(ctx, answerBound)
	defer cancel()
	conn, err := dial(ctx, m.engine, id.Normal(), true)
	if err != nil {
		return SessionState{}, err
	}
	defer conn.close()
	state, err := conn.session(name, forget)
	if err != nil {
		return state, fmt.Errorf("cannot read the session %q: %w", name, err)
	}
	return state, nil
}
