package sandbox

import (
	"context"
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

// answerBound is how long a guest may take to answer one who only looks.
const answerBound = 5 * time.Second

// SessionOf asks a sandbox for the state of a session without holding a lease.
func (m *Manager) SessionOf(ctx context.Context, id Identity, name string) (SessionState, error) {
	ctx, cancel := context.WithTimeout(ctx, answerBound)
	defer cancel()
	conn, err := dial(ctx, m.engine, id.Normal(), true)
	if err != nil {
		return SessionState{}, err
	}
	defer conn.close()
	state, err := conn.session(name)
	if err != nil {
		return state, fmt.Errorf("cannot read the session %q: %w", name, err)
	}
	return state, nil
}
