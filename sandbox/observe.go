package sandbox

import (
	"context"
	"fmt"
)

// Observe returns the identity's sandbox to one who only looks, or ErrNotFound if it does not run. It is no hold, so the
// sandbox ends as if nobody looked, and is not made anew for this. What is started by it counts as use like any other command.
func (m *Manager) Observe(ctx context.Context, id Identity) (*Sandbox, error) {
	id = id.Normal()
	info, err := m.engine.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	if info.State != Running {
		return nil, fmt.Errorf("cannot look at the sandbox %q: %w", id.Task, ErrNotFound)
	}
	conn, err := dial(ctx, m.engine, id, true)
	if err != nil {
		return nil, err
	}
	return m.hold(&Sandbox{identity: id, spec: info.Spec, hash: info.SpecHash, conn: conn, observer: true}), nil
}
