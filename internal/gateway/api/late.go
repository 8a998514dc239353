package api

import (
	"context"
	"sync"

	"hermes.example/hermes/client"
	"hermes.example/hermes/internal/forward"
	"hermes.example/hermes/sandbox"
)

// late are sandboxes that are opened by the first request that needs them: a gateway runs also where the engine's daemon
// does not yet, and the next request tries again. Nothing but ready is called before that has succeeded.
type late struct {
	open func() (Sandboxes, error)

	mu  sync.Mutex
	all Sandboxes
}

// ready opens the sandboxes, unless they are open.
func (l *late) ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all != nil {
		return nil
	}
	all, err := l.open()
	if err != nil {
		return Problem(client.CodeUnavailable, err.Error())
	}
	l.all = all
	return nil
}

func (l *late) get() Sandboxes {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

func (l *late) Manager() *sandbox.Manager             { return l.get().Manager() }
func (l *late) Identity(task string) sandbox.Identity { return l.get().Identity(task) }
func (l *late) Release(task string)                   { l.get().Release(task) }
func (l *late) KeepsFiles() bool                      { return l.get().KeepsFiles() }
func (l *late) Containers() bool                      { return l.get().Containers() }
func (l *late) Forwarded() (forward.Values, error)    { return l.get().Forwarded() }

// Held is how many sandboxes are kept open, which is none before there are any.
func (l *late) Held() int {
	if all := l.get(); all != nil {
		return all.Held()
	}
	return 0
}

func (l *late) Obtain(ctx context.Context, task string, spec *sandbox.Spec) (*sandbox.Sandbox, error) {
	return l.get().Obtain(ctx, task, spec)
}

func (l *late) Use(ctx context.Context, task string, f func(*sandbox.Sandbox) error) error {
	return l.get().Use(ctx, task, f)
}
